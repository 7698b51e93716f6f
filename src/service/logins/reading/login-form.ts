/**
 * The kind of value for a field. `totp_code` is a code of an authenticator app, `code` a code that the site sends,
 * `text` anything else.
 */
export type FieldType = 'identifier' | 'password' | 'code' | 'totp_code' | 'text';

export type ChoiceType = 'mfa_method' | 'sso_provider' | 'sign_in_method' | 'auth_method' | 'account' | 'other';

/** `switch` leads to other methods without naming one. */
export type MfaType = 'sms' | 'call' | 'email' | 'totp' | 'push' | 'password' | 'switch';

/** A field that a login page asks for. */
export type LoginField = {
  /**
   * The key of a submitted value, and the `name` of a discovered field. Stays the same while the page shows the same
   * fields.
   */
  id: string;
  /**
   * The value's name in a credential: `email`, `phone` or `username` for an identifier, `password`, `code` for all
   * codes, and the page's own name for `text`. Not unique: two password fields have the same `ref`.
   */
  ref: string;
  type: FieldType;
  input_type: 'text' | 'email' | 'password' | 'tel' | 'number' | 'url' | 'code' | 'totp';
  /** The page's label, or else a word for the type. Never empty. */
  label: string;
  placeholder?: string;
  /** The page's further text about the field. */
  hint?: string;
  /**
   * A CSS selector, relative to the field's document or shadow root. For a code with several boxes, that of the first
   * box.
   */
  selector: string;
  required: boolean;
  linked_mfa_type?: MfaType;
};

/** An element of a login page that a person can choose by a click. */
export type LoginChoice = {
  /** Stays the same while the page offers the same choices. */
  id: string;
  type: ChoiceType;
  label: string;
  description?: string;
  /** An XPath, as for the `selector` of an SSO button. */
  selector: string;
  /** Only for the type `mfa_method`, and for the type `auth_method` if the choice leads to a password. */
  mfa_type?: MfaType;
  /** The masked phone number or address of a second factor. */
  target?: string;
  /** Only for the type `sso_provider`: `google`, `microsoft`, or the name on the button in lower case. */
  provider?: string;
};

/** One question of a login page. */
export type LoginForm = {
  url: string;
  /** The origin of the frame that has the fields. */
  origin?: string;
  /** In the order in which the page shows them. */
  fields: LoginField[];
  choices: LoginChoice[];
  /** The site's error text, at most 500 characters, without the filled-in values. */
  website_error?: string;
  /** The site's request for an action outside of the page: "Approve the sign-in on your phone". */
  external_action_message?: string;
  /**
   * The parts of the page that the service couldn't interpret, described for a person: "a field without a name or
   * label".
   */
  not_found: string[];
};

/** An answer to a login page: values for fields, or a choice to click. With both, the fields are filled first. */
export type LoginInput = {
  /** Fills in the values on this origin only. Default: on every origin that the login may visit. */
  origin?: string | undefined;
  /** By the ids of fields. */
  values?: Record<string, string>;
  choice_id?: string;
};

/** The state of a login. */
export type LoginState =
  /** The site has questions: `form` has fields or choices. With `website_error`, the site refused the last answer. */
  | { kind: 'asks'; form: LoginForm }
  /**
   * The site waits for an action outside of the page (`external_action_message`). The choices of `form` can be
   * submitted instead.
   */
  | { kind: 'external_action'; form: LoginForm }
  /** `url` is the address after the login. */
  | { kind: 'logged_in'; url: string };

/** The `error_code`s of a login that can't go on. */
export type LoginErrorCode =
  | 'login_form_not_found'
  | 'domain_not_allowed'
  | 'network_error'
  | 'website_error'
  | 'element_not_found'
  | 'captcha_blocked'
  | 'browser_error'
  | 'credentials_invalid'
  | 'external_action_required'
  | 'flow_failed'
  | 'max_attempts_reached'
  | 'mfa_required'
  | 'stuck_in_loop';

/** The login can't continue. The message is for people, and contains no entered value. */
export class LoginError extends Error {
  override name = 'LoginError';
  readonly code: LoginErrorCode;

  constructor(code: LoginErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Options for opening a login page. */
export type LoginPageOptions = {
  /**
   * The connection's domain, with or without a port. The login may visit it, its subdomains, and the usual SSO
   * providers.
   */
  domain: string;
  /**
   * The URL of the login page; the login may also visit its host. Default: the service looks for a link to the login on
   * the domain's front page.
   */
  loginUrl?: string | undefined;
  /** The address after an earlier login. Reaching it again means that the profile is logged in. */
  postLoginUrl?: string | undefined;
  /** Further domains that the login may visit. */
  allowedDomains?: readonly string[] | undefined;
  /** Aborts everything that the page does, until the page is disposed. */
  signal: AbortSignal;
};
