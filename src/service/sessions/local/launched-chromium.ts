import type { Chromium } from '../../chromium/chromium.ts';
import type { ProfileCopy } from './session-profile.ts';

/** A Chromium that was started for a session, with its user-data directory and its copy of the profile. */
export type LaunchedChromium = { chromium: Chromium; directory: string; copy: ProfileCopy | undefined };

/** Starts a Chromium with this user-data directory. */
export type StartAgain = (directory: string, ended: AbortSignal) => Promise<Chromium>;
