// The script of the page that people see while a session is still being recorded. Reloads the page when the video can be
// played.
import { ask, say } from '../../views/view.browser.ts';

const waiting = document.querySelector('[role=status]')!.textContent;

pollLater();

function pollLater(): void {
  setTimeout(() => void poll(), 1000);
}

async function poll(): Promise<void> {
  const response = await ask(`replays/video${location.search}`);
  if (response && response.status < 500 && response.status !== 202) return location.reload();
  say(response ? waiting : 'The service cannot be reached. Trying again.');
  pollLater();
}
