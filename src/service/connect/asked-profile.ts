import { OperationError } from '../../contract/errors.ts';
import type { Profile } from '../../contract/profiles.ts';
import { nearestName } from '../process/nearest-name.ts';
import type { Pool } from '../pools/pool.ts';
import { currentProfileId } from '../pools/pool-config.ts';
import type { ProfileStore } from '../profiles/profiles.ts';
import type { Surroundings } from '../sessions/session-settings.ts';

type Asked = { profile?: string | undefined; save_changes: boolean };

/** The most names that are compared with an unknown one. */
const mostNames = 100;

/**
 * The profile with which a client asks to start its browser. Throws `not_found` with the nearest name, and `conflict` if the
 * browsers of the pool start with another profile, or with the same one, which they never save.
 */
export function askedProfile(
  { profile: asked, save_changes: isSaved }: Asked,
  pool: Pool,
  { profiles, surroundingsOf }: { profiles: ProfileStore; surroundingsOf: (projectId: string) => Surroundings },
): Profile | undefined {
  const { projectId, config } = pool;
  if (asked === undefined) {
    if (isSaved) throw new OperationError('bad_request', 'save_changes works only with profile=NAME');
    return undefined;
  }
  const profile = found(profiles, projectId, asked);
  if (config.profile && (isSaved || currentProfileId(config, surroundingsOf(projectId)) !== profile.id))
    throw new OperationError(
      'conflict',
      `the browsers of the pool ${pool.name ?? pool.id} start with a profile of their own and never save it: use another pool`,
    );
  return profile;
}

function found(profiles: ProfileStore, projectId: string, idOrName: string): Profile {
  try {
    return profiles.get(projectId, idOrName);
  } catch (error) {
    const { items } = profiles.list(projectId, { limit: mostNames, offset: 0 });
    const nearest = nearestName(
      idOrName.slice(0, 255),
      items.map(({ id, name }) => name ?? id),
    );
    if (!(error instanceof OperationError) || nearest === undefined) throw error;
    throw new OperationError(error.code, `${error.message}. The nearest one is ${nearest}`);
  }
}
