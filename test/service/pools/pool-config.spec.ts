import { browserPools } from '../../../src/contract/browser-pools.ts';
import { browsers } from '../../../src/contract/browsers.ts';
import { OperationError } from '../../../src/contract/errors.ts';
import type { Profile } from '../../../src/contract/profiles.ts';
import { newPoolConfig, updatedPoolConfig } from '../../../src/service/pools/pool-config.ts';
import type { ProfileSelector } from '../../../src/service/sessions/session-settings.ts';
import { refuseUnsupported, sessionSettings } from '../../../src/service/sessions/session-settings.ts';
import { expect, test } from '../../support/worker.ts';

const profiles: Profile[] = ['ada', 'bob'].map((name) => ({
  id: `id-of-${name}`,
  name,
  created_at: '2026-01-01T00:00:00.000Z',
}));

const surroundings = {
  projectId: 'project',
  hasDisplay: false,
  resolveProfile({ id, name }: ProfileSelector): Profile {
    const found = profiles.find((profile) => profile.id === id || profile.name === name);
    if (!found) throw new OperationError('not_found', `no profile ${id ?? name}`);
    return found;
  },
  resolveProxy(id: string): never {
    throw new OperationError('not_found', `no proxy ${id}`);
  },
  resolveExtension({ id, name }: { id?: string | undefined; name?: string | undefined }) {
    if (id === 'id-of-one' || name === 'one') return { id: 'id-of-one', name: 'one' };
    throw new OperationError('not_found', `no extension ${id ?? name}`);
  },
};

const config = (body: object) => newPoolConfig(browserPools.create.body.parse({ size: 2, ...body }), surroundings);
const updated = (body: object, patch: object) =>
  updatedPoolConfig(config(body), browserPools.update.body.parse(patch), surroundings);

test('reads the same settings from a single session and from a pool', () => {
  const body = { stealth: true, kiosk_mode: true, start_url: 'https://example.com/', profile: { name: 'ada' } };
  const expected = {
    projectId: 'project',
    headless: true,
    stealth: true,
    kioskMode: true,
    viewport: { width: 1920, height: 1080, refresh_rate: 25 },
    profile: profiles[0],
    startUrl: 'https://example.com/',
  };
  expect(sessionSettings(browsers.create.body.parse(body), surroundings)).toEqual({ ...expected, timeoutSeconds: 60 });
  expect(sessionSettings(config(body), surroundings)).toEqual({ ...expected, timeoutSeconds: 600 });
});

test('chooses a lower default refresh rate for a larger viewport', () => {
  expect([
    rateOf(2560, 1440),
    rateOf(1920, 1080),
    rateOf(1920, 1200),
    rateOf(1440, 900),
    rateOf(1280, 800),
    rateOf(390, 844),
  ]).toEqual([10, 25, 25, 25, 60, 60]);
  expect(rateOf(2560, 1440, 60)).toBe(60);
});

test('starts headful browsers on a machine with a display by default', () => {
  const withDisplay = { ...surroundings, hasDisplay: true };
  expect(sessionSettings(config({}), withDisplay).headless).toBe(false);
  expect(sessionSettings(config({ headless: true }), withDisplay).headless).toBe(true);
});

const unsupported = { code: 'not_implemented', detail: 'not_implemented' };
const wrong = { code: 'bad_request', detail: 'invalid_input' };
const refused = [
  { field: 'headless', value: false, ...wrong },
  { field: 'extensions', value: [{ name: 'two' }], ...wrong },
  { field: 'extensions', value: [{}], ...wrong },
  { field: 'proxy_id', value: 'proxy', ...wrong },
  { field: 'chrome_policy', value: { HomepageLocation: 'https://example.com' }, ...unsupported },
];

test('refuses values that a pool or a session does not support, and names the field', () => {
  for (const { field, value, code, detail } of refused) {
    const refusal = { code, details: [{ code: detail, message: expect.stringContaining(`${field}: `) }] };
    const body = { [field]: value };
    for (const refusing of [
      () => config(body),
      () => updated({}, body),
      () => sessionSettings(browsers.create.body.parse(body), surroundings),
    ])
      expect(errorOf(refusing), JSON.stringify(body)).toMatchObject(refusal);
  }
});

test('names all unsupported fields of a pool', () => {
  expect(errorOf(() => refuseUnsupported({ gpu: true, chrome_policy: { a: 1 } }))).toMatchObject({
    message: expect.stringContaining('gpu, chrome_policy'),
    details: [{ message: expect.stringContaining('gpu: ') }, { message: expect.stringContaining('chrome_policy: ') }],
  });
});

test("accepts empty values of a pool's unsupported fields", () => {
  const empty = { extensions: [], proxy_id: '', chrome_policy: {}, start_url: '' };
  const off = { browser: { console: { enabled: false } } };
  for (const telemetry of [null, {}, { enabled: false }, { browser: {} }, off])
    expect(config({ ...empty, telemetry })).toMatchObject({ extensions: [], chrome_policy: {}, telemetry });
  expect(config(empty)).not.toHaveProperty('proxy_id');
  expect(config(empty)).not.toHaveProperty('start_url');
});

test("shows a pool's configuration with its defaults", () => {
  expect(
    config({ name: 'ci', stealth: true, fill_rate_per_minute: 10, profile: { name: 'ada', save_changes: true } }),
  ).toEqual({
    size: 2,
    name: 'ci',
    fill_rate_per_minute: 10,
    timeout_seconds: 600,
    stealth: true,
    kiosk_mode: false,
    profile: { name: 'ada' },
    refresh_on_profile_update: true,
    extensions: [],
    chrome_policy: {},
  });
});

test('updates only the given fields of a pool', () => {
  const viewport = { width: 800, height: 600 };
  const before = { name: 'ci', stealth: true, start_url: 'https://example.com/', viewport };
  expect(updated(before, { size: 5 })).toEqual({ ...config(before), size: 5 });
  expect(updated(before, { name: '' })).toEqual(config(before));
  const patch = { name: 'nightly', stealth: false };
  expect(updated(before, patch)).toEqual({ ...config(before), ...patch });
  expect(updated(before, { start_url: '' })).not.toHaveProperty('start_url');
  expect(updated(before, { proxy_id: '', discard_all_idle: true })).toEqual(config(before));
});

test('sets and clears refresh_on_profile_update with the profile', () => {
  const withProfile = { profile: { name: 'ada' } };
  expect(config({}).refresh_on_profile_update).toBe(false);
  expect(config(withProfile).refresh_on_profile_update).toBe(true);
  expect(config({ ...withProfile, refresh_on_profile_update: false }).refresh_on_profile_update).toBe(false);

  const off = { ...withProfile, refresh_on_profile_update: false };
  expect(updated(off, { profile: { name: 'bob' } })).toMatchObject({
    profile: { name: 'bob' },
    refresh_on_profile_update: true,
  });
  expect(updated(off, { profile: { name: 'bob' }, refresh_on_profile_update: false }).refresh_on_profile_update).toBe(
    false,
  );
  expect(updated(off, { profile: { name: 'ada' } }).refresh_on_profile_update).toBe(false);
  expect(updated(off, { profile: { id: 'id-of-ada' } }).refresh_on_profile_update).toBe(false);
  expect(updated(off, { refresh_on_profile_update: true }).refresh_on_profile_update).toBe(true);
  expect(updated(off, { size: 3 }).refresh_on_profile_update).toBe(false);
  expect(updated({}, { save_changes: null })).not.toHaveProperty('save_changes');
  expect(updated({}, { profile: { id: 'id-of-bob', save_changes: true } })).toMatchObject({
    profile: { id: 'id-of-bob' },
    refresh_on_profile_update: true,
  });

  for (const save_changes of [true, 'yes', null, {}]) {
    expect(config({ profile: { name: 'ada', save_changes } }).profile).toEqual({ name: 'ada' });
    expect(updated({}, { profile: { name: 'ada', save_changes } }).profile).toEqual({ name: 'ada' });
  }

  for (const empty of [{ id: '' }, { name: '' }]) {
    const cleared = updated(withProfile, { profile: empty, refresh_on_profile_update: true });
    expect(cleared).not.toHaveProperty('profile');
    expect(cleared.refresh_on_profile_update).toBe(false);
  }
});

test('refuses an invalid profile of a pool with the name of the field', () => {
  const refusal = { code: 'bad_request', details: [{ message: expect.stringContaining('profile: ') }] };
  for (const profile of [{}, { save_changes: true }, { id: 'unknown' }]) {
    expect(errorOf(() => config({ profile }))).toMatchObject(refusal);
    expect(errorOf(() => updated({}, { profile }))).toMatchObject(refusal);
  }
  expect(errorOf(() => config({ profile: { id: '' } }))).toMatchObject(refusal);
  expect(errorOf(() => config({ refresh_on_profile_update: true }))).toMatchObject({ code: 'bad_request' });
  expect(errorOf(() => updated({}, { refresh_on_profile_update: true }))).toMatchObject({ code: 'bad_request' });
});

function rateOf(width: number, height: number, refresh_rate?: number): number | undefined {
  const viewport = { width, height, ...(refresh_rate && { refresh_rate }) };
  return sessionSettings(config({ viewport }), surroundings).viewport.refresh_rate;
}

function errorOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
