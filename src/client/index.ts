export type { AppVersion } from '../contract/apps.ts';
export type { AuditLog } from '../contract/audit-logs.ts';
export type { AuthConnection, AuthConnectionRequest } from '../contract/auth-connections.ts';
export type { AuthConnectionEvent, Submission } from '../contract/login-flow.ts';
export type { BrowserSession } from '../contract/browsers.ts';
export type { BrowserPool } from '../contract/browser-pools.ts';
export type { CredentialProvider, CredentialProviderItem } from '../contract/credential-providers.ts';
export type { Credential } from '../contract/credentials.ts';
export type { Deployment, DeploymentEvent } from '../contract/deployments.ts';
export type { Extension } from '../contract/extensions.ts';
export type { FileEvent, FileInfo } from '../contract/files.ts';
export type { Invocation, InvocationEvent } from '../contract/invocations.ts';
export type { ErrorObject } from '../contract/error-object.ts';
export type { ListPage, TokenListPage } from '../contract/operation.ts';
export type { Profile } from '../contract/profiles.ts';
export type { BrowserProxy } from '../contract/proxies.ts';
export { type Client, type ClientOptions, createClient } from './client.ts';
export type {
  AuditLogDownload,
  AuditLogDownloadOptions,
  AuditLogDownloadProgress,
  AuditLogDownloadQuery,
} from './audit-download.ts';
export {
  AuditLogDownloadError,
  CallTimeoutError,
  ConflictError,
  ConnectionError,
  NotFoundError,
  RateLimitError,
  ServiceError,
  UnauthorizedError,
} from './errors.ts';
export type { UploadFile } from './multipart.ts';
export type { ItemList, TokenItemList } from './paginate.ts';
export type { CallOptions, Upload } from './request.ts';
export type { Bytes } from './response.ts';
