// @ts-check
// Runs in the page of a replay that is still being recorded, until its video can be played.

const status = /** @type {HTMLElement} */ (document.querySelector('[role=status]'));
const waiting = status.textContent;
const video = `replays/video${location.search}`;

pollLater();

function pollLater() {
  setTimeout(() => void poll(), 1000);
}

async function poll() {
  const response = await fetch(video, { method: 'HEAD', signal: AbortSignal.timeout(5000) }).catch(() => undefined);
  if (response && response.status < 500 && response.status !== 202) return location.reload();
  const text = response ? waiting : 'The service cannot be reached; trying again.';
  if (status.textContent !== text) status.textContent = text;
  pollLater();
}
