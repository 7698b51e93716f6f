import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { serve, type Serving } from '../http/serve.ts';

type VaultItem = {
  id: string;
  title: string;
  category: string;
  urls?: { href: string; primary?: boolean }[];
  fields?: { id: string; type?: string; purpose?: string; label?: string; value?: string; totp?: string }[];
};

type Vault = { id: string; name: string; items: VaultItem[] };

/** A server with the part of the 1Password Connect protocol that the service uses, on the loopback address. */
export class VaultServer implements AsyncDisposable {
  readonly token: string;
  /** The received requests: method, path and the Authorization header. */
  readonly requests: string[] = [];
  /** If set, it answers instead of the vault. */
  answer: RequestListener | undefined;
  readonly #vaults: Vault[];
  readonly #server = createServer((request, response) => {
    this.requests.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    (this.answer ?? this.#answer)(request, response);
  });

  #serving: Serving | undefined;

  private constructor(token: string, vaults: Vault[]) {
    this.token = token;
    this.#vaults = vaults;
  }

  static async start(token: string, vaults: Vault[]): Promise<VaultServer> {
    const vault = new VaultServer(token, vaults);
    vault.#serving = await serve(vault.#server);
    return vault;
  }

  get address(): string {
    return this.#serving!.url;
  }

  /** Resolves with the next request. */
  async asked(): Promise<void> {
    await once(this.#server, 'request');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#serving?.[Symbol.asyncDispose]();
    this.#serving = undefined;
  }

  readonly #answer: RequestListener = ({ method, url = '', headers }, response) => {
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (headers.authorization !== `Bearer ${this.token}`) return answer(401, { status: 401, message: 'Invalid token' });
    const [, id, itemId] = /^\/v1\/vaults\/([^/]+)\/items(?:\/([^/]+))?$/.exec(url) ?? [];
    const vault = this.#vaults.find((vault) => vault.id === id);
    const item = vault?.items.find((item) => item.id === itemId);
    if (method === 'GET' && url === '/v1/vaults') return answer(200, this.#vaults.map(({ id, name }) => ({ id, name, type: 'USER_CREATED' }))); // prettier-ignore
    if (method === 'GET' && item) return answer(200, item);
    // Lists leave out the fields of their items.
    if (method === 'GET' && vault && itemId === undefined)
      return answer(
        200,
        vault.items.map((item) => Object.assign({}, item, { fields: undefined })),
      );
    return answer(404, { status: 404, message: 'Nothing here' });
  };
}

/** A vault server with the vault Team. Each item has carol's login for a site, and its URLs. */
export async function startTeamVault(password: string, urlsOfItems: Record<string, string[]>): Promise<VaultServer> {
  const fields = [
    { id: 'username', purpose: 'USERNAME', value: 'carol' },
    { id: 'password', purpose: 'PASSWORD', value: password },
  ];
  const items = Object.entries(urlsOfItems).map(([title, urls]) => ({
    id: title,
    title,
    category: 'LOGIN',
    urls: urls.map((href) => ({ href })),
    fields,
  }));
  return await VaultServer.start('vault-token', [{ id: 'v1', name: 'Team', items }]);
}
