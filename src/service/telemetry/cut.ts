/** The longest text in an event, in characters. Pictures are longer. */
const longest = 16 * 1024;
/** The largest data of an event, in characters of JSON. */
const largest = 128 * 1024;
const deepest = 24;

/** Limits the size of an event: cuts long texts, and drops all fields over 1 KiB if the event is still too large. */
export function cut(data: Record<string, unknown>): { data: Record<string, unknown>; truncated?: true } {
  let isCut = false;
  const shorter = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') {
      if (value.length <= longest) return value;
      isCut = true;
      return value.slice(0, longest);
    }
    if (typeof value !== 'object' || value === null) return value;
    if (depth > deepest) {
      isCut = true;
      return undefined;
    }
    if (Array.isArray(value)) return value.map((item) => shorter(item, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shorter(item, depth + 1)]));
  };
  const kept = shorter(data, 0) as Record<string, unknown>;
  if (JSON.stringify(kept).length > largest) {
    const small = Object.entries(kept).filter(([, value]) => (JSON.stringify(value) ?? '').length <= 1024);
    return { data: Object.fromEntries(small), truncated: true };
  }
  return isCut ? { data: kept, truncated: true } : { data: kept };
}

const secret = /^(authorization|proxy-authorization|cookie|set-cookie)$/i;

/** Headers without the values of credentials and cookies. */
export function withoutSecrets(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, secret.test(name) ? '[redacted]' : value]),
  );
}
