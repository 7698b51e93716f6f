/** A page, and the result that discovery must find. */
export type LoginFixture = {
  name: string;
  /** `{{other}}` is the origin of another site, which serves the fixture's `frame`. */
  html: string;
  frame?: string;
  /** `type: label` of each field, in their order. */
  fields: string[];
  /** `type: label` of each choice. */
  choices?: string[];
  /** The site's error text. */
  error?: string;
  /** A question of the site that is answered outside the page. */
  external?: RegExp;
};
