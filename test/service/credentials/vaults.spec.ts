import { expect } from '@playwright/test';
import { Vaults } from '../../../src/service/credentials/vault.ts';
import { items, onePassword, test, token } from '../../support/logins/shop-vault.ts';

test('lists the logins in all vaults, and caches them until the provider changes', async ({ client, clock, vault }) => {
  const { id } = await client.credentialProviders.create({ ...onePassword('vault', vault), cache_ttl_seconds: 60 });
  const asked = async () => {
    vault.requests.length = 0;
    expect(await client.credentialProviders.listItems(id)).toEqual({ items });
    return vault.requests.length;
  };
  expect(await asked()).toBe(3);
  clock.advance(59_999);
  expect(await asked()).toBe(0);
  clock.advance(1);
  expect(await asked()).toBe(3);
  await client.credentialProviders.update(id, { name: 'safe' });
  expect(await asked()).toBe(3);
  await client.credentialProviders.update(id, { cache_ttl_seconds: 0 });
  expect([await asked(), await asked()]).toEqual([3, 3]);
});

test('reads a login from the vault item at a path, or from the first item for a domain', async ({ vault, clock }) => {
  const vaults = new Vaults(clock);
  const access = { id: 'p', name: 'vault', version: 1, address: vault.address, token, cacheTtlMs: 60_000 };
  const { signal } = new AbortController();
  const login = {
    values: { username: 'ann@shop.example', password: 'correct horse', branch: '12' },
    totpSecret: 'JBSWY3DPEHPK3PXP',
    hosts: ['shop.example'],
  };
  expect(await vaults.login(access, { path: 'Shared/Shop' }, signal)).toEqual(login);
  for (const domain of ['shop.example', 'www.shop.example', 'example']) {
    expect(await vaults.login(access, { domain }, signal), domain).toEqual(login);
  }
  const bare = { values: {}, totpSecret: undefined, hosts: [] };
  expect(await vaults.login(access, { path: 'Tests/Bank' }, signal)).toEqual(bare);
  for (const none of [
    { path: 'Shared/Router' },
    { path: 'Shop' },
    { path: 'Shared/Shop', domain: 'bank.example' },
    { domain: 'login.shop.example' },
    { domain: 'hop.example' },
    { domain: 'shop.example:8080' },
  ]) {
    expect(await vaults.login(access, none, signal)).toBeUndefined();
  }
  expect(vault.requests.filter((asked) => asked.startsWith('GET /v1/vaults '))).toHaveLength(1);
});
