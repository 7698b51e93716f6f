import type { SessionCall } from '../http/app.ts';
import { localOnly } from '../sessions/in-session.ts';
import type { Session } from '../sessions/session.ts';

/**
 * The operation ids of the hosted service's SDK (`@onkernel/sdk`), by the names in this project's contract. Listed only
 * if the id isn't the last part of the name.
 */
const idsOfHostedService: Readonly<Record<string, string>> = {
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

/** Adds an API call to the telemetry of its session. Leaves out calls that read telemetry. */
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
      operation_id: idsOfHostedService[operation] ?? operation.slice(operation.lastIndexOf('.') + 1),
      status,
      duration_ms: durationMs,
    },
  });
}
