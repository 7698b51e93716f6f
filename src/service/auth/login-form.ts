/** What a field takes. `totp_code` is a code of an authenticator app, `code` one that the site sends, `text` anything else that a login asks for. */
export type FieldType = 'identifier' | 'password' | 'code' | 'totp_code' | 'text';

export type ChoiceType = 'mfa_method' | 'sso_provider' | 'sign_in_method' | 'auth_method' | 'account' | 'other';

/** `switch` leads to other methods without naming one. */
export type MfaType = 'sms' | 'call' | 'email' | 'totp' | 'push' | 'password' | 'switch';

/** A field that a login page asks for. */
export type LoginField = {
  /** Stays the same for as long as the page asks for the same; the key of a submitted value. Also the `name` of a discovered field. */
  id: string;
  /**
   * The name under which a value belongs into a credential: `email`, `phone` or `username` for an identifier, `password`, `code` for codes
   * of any kind, and for `text` what the page calls it. Not unique: a second password has the same.
   */
  ref: string;
  type: FieldType;
  input_type: 'text' | 'email' | 'password' | 'tel' | 'number' | 'url' | 'code' | 'totp';
  /** As the page shows it; where it shows none, a word for the type. Never empty. */
  label: string;
  placeholder?: string;
  /** What the page says about the field besides. */
  hint?: string;
  /** In CSS, from the field's own document or shadow root. The first of several boxes that take one code together. */
  selector: string;
  required: boolean;
  linked_mfa_type?: MfaType;
};

/** Something to choose on a login page, by clicking it. */
export type LoginChoice = {
  /** Stays the same for as long as the page offers the same. */
  id: string;
  type: ChoiceType;
  label: string;
  description?: string;
  /** An XPath, as for the `selector` of an SSO button. */
  selector: string;
  /** Of choices of the type `mfa_method`, and of those of the type `auth_method` that lead to a password. */
  mfa_type?: MfaType;
  /** The masked phone number or address of a second factor. */
  target?: string;
  /** Of choices of the type `sso_provider`: `google`, `microsoft`, or the name on the button in lower case. */
  provider?: string;
};

/** What a login page asks at one time. */
export type LoginForm = {
  url: string;
  /** In the order in which the page shows them. */
  fields: LoginField[];
  choices: LoginChoice[];
  /** The error text that the site shows, at most 500 characters. What was filled in is cut out of it. */
  website_error?: string;
  /** What the site asks for outside of the page: "Approve the sign-in on your phone". */
  external_action_message?: string;
  /** What the page seems to ask for and could not be made out, in words for a person: "a field without a name or label". */
  not_found: string[];
};

/** What to do on a login page: fields to fill, or a choice to click. With both, the fields are filled first. */
export type LoginInput = {
  /** By the ids of fields. */
  values?: Record<string, string>;
  choice_id?: string;
};

/** Where a login stands. */
export type LoginState =
  /** The site asks for something: `form` has fields or choices; with `website_error` it refused what it got before. */
  | { kind: 'asks'; form: LoginForm }
  /** The site waits for something outside of the page (`external_action_message`); what `form` offers instead can be submitted. */
  | { kind: 'external_action'; form: LoginForm }
  /** `url` is where the browser landed. */
  | { kind: 'logged_in'; url: string };

/** The `error_code`s with which the flow's part in the browser fails. */
export type LoginErrorCode =
  | 'login_form_not_found'
  | 'domain_not_allowed'
  | 'network_error'
  | 'website_error'
  | 'element_not_found'
  | 'captcha_blocked'
  | 'browser_error';

/** The login can't go on in this page. The message is for people and holds nothing that was filled in. */
export class LoginError extends Error {
  override name = 'LoginError';
  readonly code: LoginErrorCode;

  constructor(code: LoginErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** How a login page is opened. */
export type LoginPageOptions = {
  /** The connection's domain, with or without a port. With its subdomains it is allowed, and so are the usual SSO providers. */
  domain: string;
  /** Where to log in. Without it the login page is looked for from the domain's front page. Its host is allowed too. */
  loginUrl?: string | undefined;
  /** Where a former login landed: to land there again means to be logged in. */
  postLoginUrl?: string | undefined;
  /** Further domains that the login may visit. */
  allowedDomains?: readonly string[] | undefined;
  /** Aborts whatever the page does, until it is disposed. */
  signal: AbortSignal;
};
