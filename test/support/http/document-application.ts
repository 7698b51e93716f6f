import type { IncomingMessage, ServerResponse } from 'node:http';

/** The pages of the application that the tests in README and docs use. */
const pages: Record<string, string> = {
  '/upload': `
    <label>Invoice <input type="file"></label>
    <button onclick="navigator.clipboard.writeText('https://shop.example.com/invoices/' + document.querySelector('input').files.length)">Copy link</button>`,
  '/import': `
    <label>Orders <input type="file"></label>
    <a download="report.pdf" hidden>Report</a>
    <script>
      addEventListener('keydown', ({ key, ctrlKey }) => {
        if (key !== 'Enter' || !ctrlKey) return;
        const link = document.querySelector('a');
        link.href = URL.createObjectURL(document.querySelector('input').files[0]);
        link.hidden = false;
      });
    </script>`,
  '/basket': `<button onclick="document.querySelector('p').textContent = 'Paid'">Pay</button><p role="status"></p>`,
};

export function documentApplication({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const page = pages[url];
  response
    .writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' })
    .end(page && `<!doctype html>${page}`);
}
