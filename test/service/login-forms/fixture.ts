/** A page with what discovery has to find in it. */
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
  /** What the site asks for outside of the page. */
  external?: RegExp;
};
