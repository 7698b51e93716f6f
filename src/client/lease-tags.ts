// The tags by which a session names its test, run and worker. The fixtures and the CLI import them from here, because they
// may import only types from the contract.
export { fileTag, runTag, testTag, testTagOf, testTitleOf, workerTag } from '../contract/lease-tags.ts';
