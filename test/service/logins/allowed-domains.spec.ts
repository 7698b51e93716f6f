import { mayVisit } from '../../../src/service/logins/robot/allowed-domains.ts';
import { expect, test } from '../../support/worker.ts';

test('a login may visit its allowed domains, their subdomains and identity providers only', () => {
  for (const [url, domain, allowed] of [
    ['https://example.com/login', 'example.com', true],
    ['https://accounts.example.com/', 'example.com', true],
    ['https://accounts.example.com/', 'www.example.com', true],
    ['https://example.com.evil.org/', 'example.com', false],
    ['https://notexample.com/', 'example.com', false],
    ['https://example.com@evil.org/', 'example.com', false],
    ['http://127.0.0.1:4001/', '127.0.0.1:4000', false],
    ['http://127.0.0.1:4000/', '127.0.0.1:4000', true],
    ['http://localhost:4000/', 'localhost', true],
    ['http://localhost/', 'localhost:80', true],
    ['http://[::1]:4000/', '[::1]:4000', true],
    ['https://EXAMPLE.com/', 'Example.COM', true],
    ['https://xn--bcher-kva.example/', 'bücher.example', true],
    ['https://accounts.google.com/o/oauth2', 'example.com', true],
    ['https://acme.okta.com/', 'example.com', true],
    ['https://google.com/', 'example.com', false],
    ['about:blank', 'example.com', true],
    ['file:///etc/passwd', 'example.com', false],
    ['https://example.com/', '', false],
  ] as const)
    expect(mayVisit(url, [domain]), `${url} for ${domain}`).toBe(allowed);
});
