import { readFileSync } from 'node:fs';

/** The unit of processor times in /proc: 1/100 s on x64 and arm64. */
const ticksPerSecond = 100;

/**
 * The use of a running process: percent of one processor since its start, and memory in bytes. Empty if the system has no
 * /proc or the process has ended.
 */
export function processUse(pid: number): { cpu_pct?: number; mem_bytes?: number } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may contain anything. The state after it is field 3 of proc(5).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [user, system, start] = [14, 15, 22].map((field) => Number(fields[field - 3]) / ticksPerSecond) as [
      number,
      number,
      number,
    ];
    const upSeconds = Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]);
    const age = Math.max(upSeconds - start, 1 / ticksPerSecond);
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0;
    return { cpu_pct: Math.round(((user + system) / age) * 1000) / 10, mem_bytes: Number(resident) * 1024 };
  } catch {
    return {};
  }
}
