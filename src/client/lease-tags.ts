// The fixtures and the CLI import these functions from here, because they may import only types from the contract.
export { runTag, testTag, testTagOf, testTitleOf } from '../contract/lease-tags.ts';
