import { lookup, type LookupAddress } from 'node:dns';
import { BlockList, type LookupFunction } from 'node:net';

/** A wildcard of a tunnel admits the name, but not its address. */
export class LoopbackError extends Error {
  override name = 'LoopbackError';
}

/** Looks up a name for `net.connect`. Fails with `LoopbackError` if any of its addresses leads to this machine itself. */
export const outsideLookup: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return done(error, '');
    if (addresses.some(isLoopback))
      return done(
        new LoopbackError(`${hostname} is a loopback address there: expose the whole name, not only a wildcard`),
        '',
      );
    const [{ address, family } = { address: '', family: 0 }] = addresses;
    if (options.all) done(null, addresses);
    else done(null, address, family);
  });
};

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addSubnet('0.0.0.0', 8, 'ipv4');
loopback.addAddress('::', 'ipv6');
loopback.addAddress('::1', 'ipv6');

function isLoopback({ address, family }: LookupAddress): boolean {
  return loopback.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
