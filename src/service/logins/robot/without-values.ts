import type { LoginForm } from '../reading/login-form.ts';

/** Shorter values occur in too many words. */
const shortest = 3;

/** Removes filled-in values from the texts of a form, because pages repeat them: "There is no account for alice". */
export function withoutValues(form: LoginForm, values: readonly string[]): LoginForm {
  const found = values.flatMap((value) => (value.length >= shortest ? [value, encodeURIComponent(value)] : []));
  if (found.length === 0) return form;
  const longestFirst = found.sort((a, b) => b.length - a.length);
  const cut = (text: string) => longestFirst.reduce((rest, value) => rest.replaceAll(value, '…'), text);
  const cutAll = <T extends object>(texts: T, names: (keyof T)[]): T => {
    const copy = { ...texts };
    for (const name of names) if (typeof copy[name] === 'string') copy[name] = cut(copy[name]) as T[typeof name];
    return copy;
  };
  return {
    ...cutAll(form, ['url', 'website_error', 'external_action_message']),
    fields: form.fields.map((field) => cutAll(field, ['label', 'hint', 'placeholder'])),
    choices: form.choices.map((choice) => cutAll(choice, ['label', 'description', 'target'])),
  };
}
