import { test as base } from '../service/organization.ts';
import { VaultServer } from './vault.ts';

export const token = 'ops_the-token-of-the-vault';

export const fields = [
  { id: 'u', type: 'STRING', purpose: 'USERNAME', label: 'Benutzername', value: 'ann@shop.example' },
  { id: 'p', type: 'CONCEALED', purpose: 'PASSWORD', label: 'Passwort', value: 'correct horse' },
  { id: 'n', type: 'STRING', purpose: 'NOTES', label: 'notesPlain', value: 'of no use' },
  { id: 'b', type: 'STRING', label: 'branch', value: '12' },
  { id: 'e', type: 'STRING', label: 'empty' },
  {
    id: 'o',
    type: 'OTP',
    label: 'one-time password',
    value: 'otpauth://totp/shop?secret=jbswy3dpehpk3pxp&issuer=shop',
    totp: '123456',
  },
];

/** The fields of a credential provider for a vault. Without an address it reaches none. */
export const onePassword = (name: string, { address }: { address?: string } = {}) => ({
  provider_type: 'onepassword' as const,
  name,
  token,
  ...(address !== undefined && { address }),
});

/** A vault server with two vaults. */
export const test = base.extend<{ vault: VaultServer }>({
  vault: async ({}, use) => {
    await using vault = await VaultServer.start(token, [
      {
        id: 'v1',
        name: 'Shared',
        items: [
          { id: 'i1', title: 'Shop', category: 'LOGIN', urls: [{ href: 'https://shop.example/login' }], fields },
          { id: 'i2', title: 'Router', category: 'SERVER' },
          { id: 'i3', title: 'Blog', category: 'LOGIN', urls: [] },
        ],
      },
      { id: 'v2', name: 'Tests', items: [{ id: 'i4', title: 'Bank', category: 'LOGIN' }] },
    ]);
    await use(vault);
  },
});

const shop = {
  vault_id: 'v1',
  vault_name: 'Shared',
  id: 'i1',
  title: 'Shop',
  path: 'Shared/Shop',
  urls: ['https://shop.example/login'],
};
export const items = [
  shop,
  { vault_id: 'v1', vault_name: 'Shared', id: 'i3', title: 'Blog', path: 'Shared/Blog', urls: [] },
  { vault_id: 'v2', vault_name: 'Tests', id: 'i4', title: 'Bank', path: 'Tests/Bank', urls: [] },
];
