export type { Browser } from '../contract/browsers.ts';
export type { BrowserPool } from '../contract/browser-pools.ts';
export type { FileEvent, FileInfo } from '../contract/files.ts';
export type { Page } from '../contract/operation.ts';
export type { Profile } from '../contract/profiles.ts';
export { type Client, type ClientOptions, createClient } from './client.ts';
export {
  CallTimeoutError,
  ConflictError,
  ConnectionError,
  NotFoundError,
  RateLimitError,
  ServiceError,
  UnauthorizedError,
} from './errors.ts';
export type { UploadFile } from './multipart.ts';
export type { ItemList } from './paginate.ts';
export type { CallOptions, Upload } from './request.ts';
export type { Bytes } from './response.ts';
