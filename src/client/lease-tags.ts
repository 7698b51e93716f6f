// The fixtures and the CLI import these functions from here, because they may import only types from the contract.
export { fileTag, runTag, testTag, testTagOf, testTitleOf, workerTag } from '../contract/lease-tags.ts';
