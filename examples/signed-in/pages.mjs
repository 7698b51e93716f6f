/** An HTML page. It contains no user input except names that the site knows. */
export function page(title, content) {
  return `<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
  body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 24rem; padding: 0 1rem }
  form { display: grid; gap: 0.75rem }
  .field { display: grid }
  [role='alert'] { color: #a00 }
</style>
<h1>${title}</h1>
${content}
</html>
`;
}

export function form(action, content, button) {
  return `<form method="post" action="${action}">${content}<button>${button}</button></form>`;
}

export function field(name, label, attributes) {
  return `<label class="field">${label} <input name="${name}" required ${attributes}></label>`;
}

/** The HTML of a message; empty without a message. */
export function alert(problem) {
  return problem === undefined ? '' : `<p role="alert">${problem}</p>`;
}
