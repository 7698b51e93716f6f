import { readdirSync, readFileSync } from 'node:fs';
import { isIPv4, type Socket } from 'node:net';
import { endianness } from 'node:os';
import { groupOf } from '../../process/children/is-running.ts';
import { hasOpen } from '../../process/children/namespaces.ts';

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
    const holds = (pid: string) => groups.has(groupOf(pid) ?? 0) && hasOpen(Number(pid), `socket:[${inode}]`);
    if (this.#last !== undefined && holds(this.#last)) return true;
    this.#last = readdirSync('/proc').find((name) => /^\d+$/.test(name) && holds(name));
    return this.#last !== undefined;
  }
}

/**
 * The other end of a connection in the system's tables. Both addresses and ports must match, because processes of others
 * can have the same ports at other addresses. A program may also connect by an IPv6 socket, which has its IPv4 addresses
 * in the form `::ffff:127.0.0.1`. `undefined` for connections over IPv6, and if there isn't exactly one such end.
 */
function ownerOf(socket: Socket): { uid: number; inode: string } | undefined {
  const { remoteAddress = '', remotePort, localAddress = '', localPort } = socket;
  if (!isIPv4(remoteAddress) || !isIPv4(localAddress)) return undefined;
  const ends = (prefix: string) =>
    ` ${prefix}${addressWord(remoteAddress)}:${hex(remotePort)} ${prefix}${addressWord(localAddress)}:${hex(localPort)} `;
  const rows = [...rowsWith('/proc/net/tcp', ends('')), ...rowsWith('/proc/net/tcp6', ends(mappedPrefix))];
  // A table that changes while it is read may list a row twice.
  const owners = new Map(rows.map((row) => [`${row[7]} ${row[9]}`, { uid: Number(row[7]), inode: row[9]! }]));
  return owners.size === 1 ? [...owners.values()][0] : undefined;
}

/** The fields of the rows of a table that contain a text. */
function rowsWith(file: string, text: string): string[][] {
  let table = '';
  try {
    table = readFileSync(file, 'latin1');
  } catch (error) {
    // A system without IPv6 has no table for it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return table.split('\n').flatMap((row) => (row.includes(text) ? [row.trim().split(/\s+/)] : []));
}

/** `::ffff:0:0/96` as in the tables, without its last word. */
const mappedPrefix = '0'.repeat(16) + word([0, 0, 255, 255]);

function addressWord(address: string): string {
  return word(address.split('.').map(Number));
}

/** The tables contain addresses as words of 4 bytes in the byte order of the processor. */
function word(bytes: number[]): string {
  const ordered = endianness() === 'LE' ? bytes.toReversed() : bytes;
  return Buffer.from(ordered).toString('hex').toUpperCase();
}

function hex(port = 0): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}
