import type { PoolCreate, PoolUpdate } from '../../contract/browser-pools.ts';
import { invalidField } from '../../contract/errors.ts';
import type { Engine } from '../../contract/values.ts';
import {
  requestedProfile,
  sessionSettings,
  type ProfileSelector,
  type Surroundings,
} from '../sessions/session-settings.ts';

/** The settings of a pool's browsers, in the form of the database and of the API. */
export type PoolConfig = PoolCreate;

export function engineOf({ config }: { config: PoolConfig }): Engine {
  return config.engine ?? 'chromium';
}

/** Throws `bad_request` for settings that this service doesn't support. */
export function newPoolConfig(body: PoolCreate, surroundings: Surroundings): PoolConfig {
  const config = withoutEmpty({
    ...body,
    refresh_on_profile_update: body.refresh_on_profile_update ?? body.profile !== undefined,
  });
  return checked(config, surroundings);
}

/** Returns the config with the patch's fields. Throws `bad_request` for settings that this service doesn't support. */
export function updatedPoolConfig(config: PoolConfig, patch: PoolUpdate, surroundings: Surroundings): PoolConfig {
  const { discard_all_idle: _, save_changes: _ignored, name, profile, ...fields } = patch;
  const updated: PoolConfig = { ...config, ...fields, ...(name && { name }) };
  if (profile && clears(profile)) {
    updated.refresh_on_profile_update = false;
    delete updated.profile;
  } else if (profile) {
    const changed = profileId(profile, surroundings) !== currentProfileId(config, surroundings);
    updated.refresh_on_profile_update =
      patch.refresh_on_profile_update ?? (changed || config.refresh_on_profile_update);
    updated.profile = profile;
  }
  return checked(withoutEmpty(updated), surroundings);
}

/** The id of the pool's profile. `undefined` if the pool has no profile, or if the profile was deleted. */
export function currentProfileId(config: PoolConfig, surroundings: Surroundings): string | undefined {
  try {
    return config.profile && profileId(config.profile, surroundings);
  } catch {
    return undefined;
  }
}

function checked(config: PoolConfig, surroundings: Surroundings): PoolConfig {
  sessionSettings(config, surroundings);
  if (config.refresh_on_profile_update && !config.profile)
    throw invalidField('refresh_on_profile_update', 'works only in a pool with a profile: pass profile too');
  return config;
}

/** Removes fields that are an empty string. Also removes `save_changes`: a pool never saves its profile. */
function withoutEmpty(config: PoolConfig): PoolConfig {
  const { start_url, proxy_id, profile, ...rest } = config;
  const { save_changes: _, ...selector } = profile ?? {};
  return {
    ...rest,
    ...(profile && { profile: selector }),
    ...(start_url && { start_url }),
    ...(proxy_id && { proxy_id }),
  };
}

/** Whether an update removes the pool's profile: by `{ id: '' }` or `{ name: '' }`. `{}` is an error elsewhere. */
function clears({ id, name }: ProfileSelector): boolean {
  return !id && !name && (id === '' || name === '');
}

function profileId(selector: ProfileSelector, { resolveProfile }: Surroundings): string {
  return requestedProfile(selector, resolveProfile).id;
}
