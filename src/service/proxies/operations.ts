import { X509Certificate } from 'node:crypto';
import { defaultCheckUrl, type BrowserProxy, type proxies as operations } from '../../contract/proxies.ts';
import { invalidField, unsupportedFields } from '../../contract/errors.ts';
import { checkProxy, isPrivateHost } from './proxy-check.ts';
import type { Clock } from '../process/clock.ts';
import { type HandlerTree, pageOf } from '../http/handler.ts';
import type { ProxyStore } from './proxies.ts';

/** The handlers of the proxy operations. */
export function proxyHandlers(store: ProxyStore, clock: Clock): HandlerTree<typeof operations> {
  return {
    create({ body, caller }) {
      if (body.type !== 'custom') {
        const type = `type ${body.type}`;
        throw unsupportedFields([type], 'use the type custom and give the address of a proxy');
      }
      refuseOtherThanCertificates(body.config.ca_bundle);
      return store.create(caller.projectId, body);
    },

    list({ query, caller }) {
      const { name, query: text } = query;
      const found = store
        .list(caller.projectId)
        .filter((proxy) => name === undefined || sameName.compare(proxy.name ?? '', name) === 0)
        .filter((proxy) => text === undefined || mentions(proxy, text));
      return pageOf(found, query);
    },

    retrieve: ({ params, caller }) => store.get(caller.projectId, params.id),
    update: ({ params, body, caller }) => store.update(caller.projectId, params.id, body),
    delete: ({ params, caller }) => store.delete(caller.projectId, params.id),

    async check({ params, body, caller, signal }) {
      const proxy = store.access(caller.projectId, params.id);
      const url = new URL(body.url ?? defaultCheckUrl);
      if (isPrivateHost(url.hostname))
        throw invalidField('url', 'must have a public address, not one of this machine or its network');
      const problem = await checkProxy(proxy, url, { clock, signal });
      const { status_reason: _, ...before } = store.get(caller.projectId, params.id);
      const found =
        problem === undefined
          ? { status: 'available' as const }
          : { status: 'unavailable' as const, status_reason: problem };
      if (body.url === undefined) store.checked(params.id, found);
      return { ...before, ...found, last_checked: new Date(clock.now()).toISOString() };
    },
  };
}

/** Compares names without case and accents, as the interface demands. */
const sameName = new Intl.Collator('und', { sensitivity: 'base', usage: 'search' });

function mentions({ id, name, config, ip_address }: BrowserProxy, text: string): boolean {
  const lower = text.toLowerCase();
  return id === text || [name, config?.host, ip_address].some((field) => field?.toLowerCase().includes(lower));
}

function refuseOtherThanCertificates(bundle: string | undefined): void {
  if (bundle === undefined) return;
  for (const certificate of bundle.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? ['']) {
    try {
      void new X509Certificate(certificate);
    } catch {
      throw invalidField('config.ca_bundle', 'must contain certificates in PEM format (-----BEGIN CERTIFICATE-----)');
    }
  }
}
