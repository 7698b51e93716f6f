import type { Clock } from './process/clock.ts';
import type { Log } from './process/log.ts';

// Types are written out: each import would bring the declarations of all that its file uses into the package.
export type ServiceOptions = {
  /**
   * The directory for pools, profiles and the API key. Only one service can use it at a time. Default: a temporary one,
   * which the service deletes when it ends.
   */
  dataDirectory?: string;
  /** The port on the loopback address; 0, the default, is any free one. */
  port?: number;
  /**
   * The key that clients must send. Default: the key in the file `api-key` of the data directory. The service creates
   * the file if it is missing.
   */
  apiKey?: string;
  /** The path of Chromium (default: Playwright's own, else the system's), and whether it runs in its sandbox. */
  chromium?: { executable?: string; sandbox?: boolean };
  /** A Firefox for versions of Playwright whose own build isn't installed. Default: there is none. */
  firefox?: string;
  /**
   * The user ids of browser sessions and deployments, one for each while it runs. No account of the machine may have
   * one of them. Default: 20000 to 29999 if the service runs as root on Linux. `false`: all run as the service's user.
   * Only root can use other ids.
   */
  sessionUids?: { first: number; last: number } | false;
  /** The name or address to listen on. Default: 127.0.0.1. */
  host?: string;
  /**
   * The URL by which other machines reach the service, such as `https://pool.example`. All URLs in answers begin with
   * it. Default: the host that the caller used.
   */
  publicUrl?: string;
  /**
   * The PEM files of a certificate with its chain, and of its key: the service speaks https and wss. It reads them
   * again when they change.
   */
  tls?: { cert: string; key: string };
  /**
   * Addresses and networks of proxies before the service, such as `10.0.0.0/8`. Their headers X-Forwarded-Proto,
   * X-Forwarded-Host, X-Forwarded-Prefix and X-Forwarded-For count. Default: none.
   */
  trustedProxies?: readonly string[];
  /** Keeps pages and CDP clients from all addresses of the service's machine. Default: false. */
  blockLoopback?: boolean;
  /** Lets the service listen beyond the loopback address although sessions have no user ids of their own. */
  allowSharedUser?: boolean;
  /** The bearer token with which scrapers read `/metrics`, beside API keys of the organization. Default: none. */
  metricsToken?: string;
  /** Sends a span for each traced request to `OTEL_EXPORTER_OTLP_ENDPOINT`. Default: false. */
  traces?: boolean;
  /** The format of replays. Default: H.264 in MP4 if Chromium can encode it, else VP9 or VP8 in WebM. */
  replayFormat?: 'h264' | 'vp9' | 'vp8';
  /** @internal Receives the events of the service. Default: nobody. */
  log?: Log;
  /** @internal The clock of the service; tests move it. */
  clock?: Clock;
  /** The most browsers that run at once in the organization, including those of pools. Default: 1000. */
  maxConcurrentSessions?: number;
  /**
   * How many bytes the pages of one session, or of one lease, may download. The service cancels further downloads.
   * Default: 4 GiB.
   */
  downloadQuota?: number;
  /** The days for which audit records are kept; 0 turns them off. Default: 90. */
  auditRetentionDays?: number;
  /** The space for audit records, in MiB. Above it, the oldest ones are removed. Default: 1024. */
  auditMaxMiB?: number;
  /** Directories of further `playwright-core` versions, for clients of `playwright_ws_url` that use them. */
  playwrightCores?: readonly string[];
  /** The machines that run the sessions. Default: this one. */
  machines?: {
    /** `dns://NAME:PORT` for all addresses behind a name, or the URLs of services. */
    from: string | readonly string[];
    /** The API key of the machines. Default: this service's own. */
    apiKey?: string;
    /** Hands out the machines' own URLs of sessions. Clients must reach the machines. Default: false. */
    directSessions?: boolean;
    /** A service for sessions that have no free slot on a machine; may be the hosted one. */
    overflow?: { url: string; apiKey: string; maxSessions?: number };
  };
  /** @internal The update server of the Chrome Web Store. Default: Google's. */
  chromeStore?: string;
  /** The largest request body in bytes. Default: 10 MiB for JSON, no limit for files. */
  bodyLimit?: number;
};
