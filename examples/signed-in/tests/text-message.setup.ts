import { expect, test } from 'playwright-pool';

test('bob logs in with a code from a text message', async ({ remote, request }) => {
  await remote.connection.login(async ({ fields = [], mfaOptions = [] }) => {
    if (mfaOptions.some(({ type }) => type === 'sms')) return { mfaOptionId: 'sms' };
    const answers: Record<string, string> = { identifier: 'bob', password: 'builder' };
    if (fields.some(({ type }) => type === 'code')) {
      const inbox = await (await request.get('/inbox')).text();
      answers['code'] = /Your code is (\d+)/.exec(inbox)![1]!;
    }
    return { fieldValues: Object.fromEntries(fields.map(({ id, type }) => [id, answers[type] ?? ''])) };
  });
  await expect(remote.connection).toBeAuthenticated();
});
