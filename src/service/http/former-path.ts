import { OperationError } from '../../contract/errors.ts';
import type { DeprecatedOperation } from '../../contract/operation.ts';
import type { Clock } from '../process/clock.ts';
import type { AnsweredContext } from './answers/event-answer.ts';

/**
 * Adds the headers of a deprecated path: deprecation date (RFC 9745), removal date (RFC 8594) and replacement (RFC
 * 5829). Throws `gone` from the removal date on.
 */
export function announceRemoval(
  { req, env }: AnsweredContext,
  { deprecated, method }: DeprecatedOperation,
  clock: Clock,
): void {
  const { deprecatedOn, removedOn } = deprecated;
  const replacement = deprecated.replacement.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(req.param(name) ?? ''),
  );
  env.outgoing.setHeader('deprecation', `@${Date.parse(deprecatedOn) / 1000}`);
  env.outgoing.setHeader('sunset', new Date(removedOn).toUTCString());
  env.outgoing.setHeader('link', `<${replacement}>; rel="successor-version"`);
  if (clock.now() >= Date.parse(removedOn)) {
    throw new OperationError('gone', `${method} ${req.path} was removed on ${removedOn}: use ${method} ${replacement}`);
  }
}
