import { randomUUID } from 'node:crypto';
import type { AuditRecord } from '../../../src/service/audit/audit-logs.ts';

const hour = 60 * 60 * 1000;

export function recordAt(time: number, fields: Partial<AuditRecord> = {}): AuditRecord {
  return {
    event_id: randomUUID(),
    service: 'api',
    timestamp: new Date(time).toISOString(),
    auth_strategy: 'api_key',
    user_id: 'ann',
    email: 'ann@example.com',
    status: 200,
    method: 'GET',
    path: '/browsers',
    route: '/browsers',
    domain: '127.0.0.1:1',
    duration_ms: 1,
    client_ip: '127.0.0.1',
    user_agent: 'test',
    ...fields,
  };
}

/**
 * From one hour before the current one until its end and an hour more. Of whole hours: the times are in the paths of
 * searches, which must not have the digits of a status that is searched.
 */
export function lastHours(): { start: string; end: string } {
  const thisHour = Math.floor(Date.now() / hour) * hour;
  return { start: new Date(thisHour - hour).toISOString(), end: new Date(thisHour + 2 * hour).toISOString() };
}
