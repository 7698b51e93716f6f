import { expect, test } from 'playwright-pool';

test('works', async ({ remote: { connection } }) => expect((await connection.info()).status).toBe('NEEDS_AUTH'));
