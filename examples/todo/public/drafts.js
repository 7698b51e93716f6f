// Typed text that was not added yet, by the address of the list.
const opening = new Promise((resolve, reject) => {
  const request = indexedDB.open('todo');
  request.addEventListener('upgradeneeded', () => request.result.createObjectStore('drafts'));
  request.addEventListener('success', () => resolve(request.result));
  request.addEventListener('error', () => reject(request.error));
});

export async function readDraft(address) {
  return (await done((drafts) => drafts.get(address), 'readonly')) ?? '';
}

export async function writeDraft(address, text) {
  await done((drafts) => drafts.put(text, address), 'readwrite');
}

async function done(act, mode) {
  const transaction = (await opening).transaction('drafts', mode);
  const request = act(transaction.objectStore('drafts'));
  await new Promise((resolve, reject) => {
    transaction.addEventListener('complete', resolve);
    transaction.addEventListener('abort', () => reject(transaction.error));
  });
  return request.result;
}
