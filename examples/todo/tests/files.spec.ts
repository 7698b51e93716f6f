import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, test } from './todo-list.ts';

const report = Buffer.from('Everything leaks, as expected.\n');

test('a file of the session is attached', async ({ list, remote }) => {
  await list.add('Call the plumber');
  await remote.files.push(report, '/home/user/report.txt');
  await remote.files.attach(list.fileInput('Call the plumber'), '/home/user/report.txt');

  await expect(list.attachments('Call the plumber')).toContainText('report.txt');
  await expect(list.attachments('Call the plumber')).toContainText(`${report.length} bytes`);
  await expect(list.attachments('Call the plumber')).toContainText(sha256(report));
});

test('setInputFiles attaches several files', async ({ list }) => {
  await list.add('Call the plumber');
  const photo = Buffer.alloc(200_000, 'photo');
  for (const [name, buffer] of Object.entries({ 'report.txt': report, 'photo.bin': photo })) {
    await list.fileInput('Call the plumber').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    await expect(list.attachments('Call the plumber')).toContainText(name);
  }
  await expect(list.attachments('Call the plumber').getByRole('listitem')).toHaveCount(2);
  await expect(list.attachments('Call the plumber')).toContainText(sha256(photo));
});

test('a downloaded attachment is unchanged', async ({ list, page }) => {
  await list.add('Call the plumber');
  await list
    .fileInput('Call the plumber')
    .setInputFiles({ name: 'report.txt', mimeType: 'text/plain', buffer: report });

  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'report.txt' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe('report.txt');
  expect(await readFile(await download.path())).toEqual(report);
});

test('the list is exported', async ({ list, page }, testInfo) => {
  await list.add('Buy milk', 'Call the plumber, "today"');
  await list.checkbox('Buy milk').check();
  await expect(page.getByText('1 left')).toBeVisible();

  const exported = async (link: string) => {
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: link }).click();
    const download = await downloading;
    const path = testInfo.outputPath(download.suggestedFilename());
    await download.saveAs(path);
    return readFile(path, 'utf8');
  };
  expect(await exported('Export as CSV')).toBe(
    'title,done,attachments\r\nBuy milk,yes,\r\n"Call the plumber, ""today""",no,\r\n',
  );
  expect(JSON.parse(await exported('Export as JSON'))).toMatchObject([
    { title: 'Buy milk', done: true },
    { done: false },
  ]);
});

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
