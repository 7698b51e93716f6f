import { z } from 'zod';
import { logEvent } from './app-events.ts';
import { events, operation } from './operation.ts';
import { queryBoolean } from './pagination.ts';

/** The operation that reads log files of a session, and the messages of its browser. */
export const sessionLogs = {
  stream: operation(
    'GET /browsers/{id}/logs/stream',
    "Read the lines of a file of the session, or of its browser's own messages. A source that isn't there is one event, and the end",
    {
      query: z.strictObject({
        source: z.enum(['path', 'supervisor']),
        follow: queryBoolean()
          .default(true)
          .describe('Only new lines, until the lease ends; otherwise all lines, and then the end'),
        path: z.string().optional().describe('A file in the file system of the session, for the source path'),
        supervisor_process: z.string().optional().describe('chromium, for the source supervisor'),
      }),
      responses: { 200: events(logEvent) },
      errors: [429],
    },
  ),
};
