/** Something that happened to a session, for its telemetry. */
export type SessionNotice = {
  category: 'connection' | 'control' | 'system' | 'monitor';
  type: string;
  data?: Record<string, unknown>;
};
