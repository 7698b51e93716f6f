import { invalidField } from '../../contract/errors.ts';

/** The switches that callers may not set: patterns for their names in lower case, each with the reason. */
const refused: [RegExp, string][] = [
  [/^remote-|debug|-startup-dialog$/, 'the service itself connects to Chromium'],
  [/-dir$|^(data-path|profile-.*|temp-profile)$/, 'each session has a user-data directory of its own'],
  [/sandbox|zygote|^single-process$|^in-process-/, "the service's own options decide about the sandbox"],
  [/proxy/, 'name a proxy by proxy_id'],
  [/(^|-)extension(?!s$)|extensions-|^load-|^app(-id)?$/, 'extensions are set in the field extensions'],
  [/^(headless|window-size)$/, 'set headless and viewport instead'],
  [/-cmd-prefix$|launcher|subprocess-path|library|plugin|^type$/, 'Chromium must not start other programs'],
  [/-file$|-output-path$|^(log-net-log|webrtc-event-logging)$/, 'Chromium must not write files of your choice'],
];

/**
 * Checks the Chromium switches that a caller adds (`chromium_args`). Throws `bad_request` for a switch by which a
 * session could get around the service's rules. On some systems Chromium ignores the case of names.
 */
export function checkExtraSwitches(switches: readonly string[]): void {
  for (const text of switches) {
    const [name = ''] = text.slice(2).toLowerCase().replaceAll('_', '-').split('=', 1);
    const reason = refused.find(([pattern]) => pattern.test(name))?.[1];
    if (reason) throw invalidField('chromium_args', `--${name} is not allowed, because ${reason}`);
  }
}
