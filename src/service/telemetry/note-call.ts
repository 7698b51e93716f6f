import type { SessionCall } from '../http/app.ts';
import { localOnly } from '../sessions/in-session.ts';
import type { Session } from '../sessions/session.ts';

/** The hosted service's names of operations, where they aren't the last word of the client's. */
const names: Readonly<Record<string, string>> = {
  'browsers.computer.captureScreenshot': 'takeScreenshot',
  'browsers.computer.batch': 'batchComputerAction',
  'browsers.logs.stream': 'logsStream',
  'browsers.playwright.execute': 'executePlaywrightCode',
  'browsers.process.exec': 'processExec',
  'browsers.process.kill': 'processKill',
  'browsers.process.resize': 'processResize',
  'browsers.process.spawn': 'processSpawn',
  'browsers.process.status': 'processStatus',
  'browsers.process.stdin': 'processStdin',
  'browsers.process.stdoutStream': 'processStdoutStream',
};

/** Adds a call to the telemetry of its session. Reading telemetry doesn't count. */
export function noteCall(
  sessions: { list(): Session[] },
  { sessionId, operation, requestId, status, durationMs }: SessionCall,
): void {
  if (operation.startsWith('browsers.telemetry.')) return;
  const session = localOnly(sessions.list().find(({ id }) => id === sessionId));
  session?.note({
    category: 'control',
    type: 'api_call',
    data: {
      request_id: requestId,
      operation_id: names[operation] ?? operation.slice(operation.lastIndexOf('.') + 1),
      status,
      duration_ms: durationMs,
    },
  });
}
