export { ArchiveError, type ArchiveErrorCode } from './errors.ts';
export { extract, type ExtractOptions } from './extract.ts';
export type { ExtractLimits } from './limits.ts';
export { pack, type PackOptions } from './pack.ts';
export type { Progress } from './progress.ts';
export { archivedStorageOrigins, storageOrigins } from './storage-origins.ts';
