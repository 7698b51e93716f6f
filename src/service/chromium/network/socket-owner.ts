import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Socket } from 'node:net';

/** The user whose process opened a connection to this one on IPv4; `undefined` if it isn't known. Linux only. */
export function userOf(socket: Socket): number | undefined {
  return ownerOf(socket)?.uid;
}

/** Finds out whether processes of certain groups opened connections to this process. Linux only. */
export class GroupCheck {
  /** The process that opened the last connection. In Chromium it opens all of them. */
  #last: string | undefined;

  /** Whether a process of the groups opened this connection on IPv4. */
  owns(socket: Socket, groups: ReadonlySet<number>): boolean {
    const inode = ownerOf(socket)?.inode;
    if (inode === undefined) return false;
    const holds = (pid: string) => groups.has(groupOf(pid) ?? 0) && hasSocket(pid, inode);
    if (this.#last !== undefined && holds(this.#last)) return true;
    this.#last = readdirSync('/proc').find((name) => /^\d+$/.test(name) && holds(name));
    return this.#last !== undefined;
  }
}

function ownerOf({ remotePort, localPort }: Socket): { uid: number; inode: string } | undefined {
  const ports = `: [0-9A-F]{8}:${hex(remotePort)} [0-9A-F]{8}:${hex(localPort)}`;
  const row = new RegExp(`${ports} \\S+ \\S+ \\S+ \\S+ +(\\d+) +\\S+ +(\\d+)`);
  const [, uid, inode] = row.exec(readFileSync('/proc/net/tcp', 'latin1')) ?? [];
  return uid === undefined || inode === undefined ? undefined : { uid: Number(uid), inode };
}

function hex(port = 0): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}

function groupOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program, in parentheses, may contain anything.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
  } catch {
    return undefined;
  }
}

function hasSocket(pid: string, inode: string): boolean {
  try {
    const directory = `/proc/${pid}/fd`;
    return readdirSync(directory).some((name) => linkOf(`${directory}/${name}`) === `socket:[${inode}]`);
  } catch {
    return false;
  }
}

function linkOf(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch {
    return undefined;
  }
}
