import type { Chromium } from '../chromium/chromium.ts';
import type { ProfileCopy } from './session-profile.ts';

/** A Chromium that was started for a session, with its user-data directory and its copy of the profile. */
export type LaunchedChromium = { chromium: Chromium; directory: string; copy: ProfileCopy | undefined };

/** Starts a Chromium that takes extensions on a user-data directory. */
export type StartWithExtensions = (directory: string, ended: AbortSignal) => Promise<Chromium>;
