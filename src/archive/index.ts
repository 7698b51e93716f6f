export { ArchiveError, type ArchiveErrorCode } from './errors.ts';
export { extract, type ExtractOptions } from './extract.ts';
export type { ExtractLimits } from './limits.ts';
export { listEntries } from './list-entries.ts';
export { pack, type PackOptions } from './pack.ts';
export type { Progress } from './progress.ts';
