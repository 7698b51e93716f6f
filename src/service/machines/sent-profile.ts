import type { Client } from '../../client/index.ts';
import type { ProfileSave } from '../../contract/browsers.ts';
import type { ProfileDirectories } from '../profiles/profile-directories.ts';

/** The data that a restarted control plane needs to find a session's copy of a profile on its machine. */
export type SentProfileRecord = { name: string; profileId: string; copyOf: string | undefined };

/** The longest pause in a transfer, in ms. */
const pauseMs = 60_000;

/** A copy of a profile on the machine of its session. */
export class SentProfile {
  readonly record: SentProfileRecord;
  readonly #client: Client;
  readonly #directories: ProfileDirectories;

  constructor(record: SentProfileRecord, { client, directories }: { client: Client; directories: ProfileDirectories }) {
    this.record = record;
    this.#client = client;
    this.#directories = directories;
  }

  /** Sends the current version of a profile to a machine, under `name`. */
  static async send(
    profile: { id: string; name: string },
    { client, directories, signal }: { client: Client; directories: ProfileDirectories; signal: AbortSignal },
  ): Promise<SentProfile> {
    const { id, name } = profile;
    const stored = directories.read(id);
    const sent = new SentProfile({ name, profileId: id, copyOf: stored?.version }, { client, directories });
    try {
      await client.profiles.create({ name }, { signal });
      if (stored) {
        // Loaded on first use, so that the service starts faster.
        const { pack } = await import('../../archive/index.ts');
        await client.profiles.upload(name, pack(stored.directory), { signal, timeout: pauseMs });
      }
      directories.used(id);
      return sent;
    } catch (error) {
      await sent.remove();
      throw error;
    } finally {
      await stored?.release();
    }
  }

  /** Fetches the copy that the machine saved at the session's end, and stores it as a new version of the profile. */
  async fetch(sessionId: string): Promise<ProfileSave> {
    const { name, profileId, copyOf } = this.record;
    const archive = await this.#client.profiles.download(name, {}, { timeout: pauseMs });
    if (!archive) return { status: 'failed', message: 'the machine has no saved profile for this session' };
    const signal = AbortSignal.timeout(10 * pauseMs);
    return await this.#directories.receive(profileId, archive.stream, signal, { sessionId, copyOf });
  }

  /** Never rejects: the machine may be gone. */
  async remove(): Promise<void> {
    await this.#client.profiles.delete(this.record.name).catch(() => {});
  }
}
