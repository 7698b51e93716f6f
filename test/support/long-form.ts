/** Whether tests run at their full size: `npm run test:long`. */
export const isLong = process.env['PLAYWRIGHT_POOL_TEST_LONG'] !== undefined;

/** Why a test is skipped that has no small form. */
export const longOnly = 'tried by npm run test:long';
