import type { TestInfo } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { createClient, type Client } from '../../../src/client/index.ts';
import type { Service, ServiceOptions } from '../../../src/service/service.ts';
import { startAnyService } from './machines.ts';
import { expectConformance } from './conformance.ts';
import { test as base } from '../worker.ts';

/** A JSON answer. */
export type TestAnswer = {
  status: number;
  headers: Headers;
  /** The parsed JSON, otherwise the text. Tests know its fields. */
  body: any; // oxlint-disable-line typescript/no-explicit-any
};

export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<TestAnswer>;

export type TestService = Service & { call: Call };

type Fixtures = {
  serviceOptions: ServiceOptions;
  /** A service in this process, in memory unless `serviceOptions` say otherwise. */
  service: TestService;
  call: Call;
  client: Client;
  /** The client of the hosted service. It retries no request. */
  kernel: Kernel;
};

export const test = base.extend<Fixtures>({
  serviceOptions: [{}, { option: true }],
  service: async ({ serviceOptions }, use) => {
    await using service = await startTestService(serviceOptions);
    await use(service);
  },
  call: async ({ service }, use) => use(service.call),
  client: async ({ service }, use) => {
    await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
    await use(client);
  },
  kernel: async ({ service }, use) => use(new Kernel({ baseURL: service.url, apiKey: service.apiKey, maxRetries: 0 })),
});

export async function startTestService(options: ServiceOptions = {}): Promise<TestService> {
  const service = await startAnyService(options);
  return { ...service, call: callerOf(service) };
}

/** Calls a service with its key, and checks every answer against the contract. */
export function callerOf({ url, apiKey }: { url: string; apiKey: string }): Call {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body !== undefined && !isRaw(body) && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    expectConformance({ method, path, status: response.status, headers: response.headers, text });
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
}

/** A directory for a service's data, removed with the test's other output. */
export function dataDirectory(testInfo: TestInfo): string {
  return testInfo.outputPath('data');
}

function isRaw(body: unknown): body is string | Uint8Array<ArrayBuffer> | FormData {
  return typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData;
}
