/** The position and size of an element, in CSS pixels of its frame. */
export type Box = { x: number; y: number; width: number; height: number };

/** The parts of a page that contain an element. */
export type Place = { inSearch: boolean; inFooter: boolean; inHeader: boolean; inDialog: boolean };

/** A field of a page, for any purpose. A missing text is empty. */
export type Control = Place & {
  /** Its number in the frame. Valid until the next observation of the frame. */
  element: number;
  tag: string;
  /** The `type` of an input; `select`, or `text`. */
  type: string;
  name: string;
  id: string;
  autocomplete: string;
  inputMode: string;
  /** 0 if the length isn't limited. */
  maxLength: number;
  pattern: string;
  placeholder: string;
  label: string;
  /** The source of the label. `near` is text before the field that isn't tied to it. */
  labelledBy: 'label' | 'near' | 'placeholder' | 'title' | '';
  hint: string;
  required: boolean;
  disabled: boolean;
  readOnly: boolean;
  /** Whether it shows dots instead of the typed text. */
  masked: boolean;
  focused: boolean;
  visible: boolean;
  /** Whether another element is drawn over it, for instance a label. */
  covered: boolean;
  /** False if it is hidden from assistive technology and the Tab key. */
  forAssistants: boolean;
  box: Box;
  /** The number of its form in the frame; -1 outside of forms. */
  form: number;
  /** The number of its form, or of the part of the page that has a button for it. */
  group: number;
  /** The words in the form's attributes. */
  formWords: string;
  groupHeading: string;
  /** Of a `select`. */
  options: string[];
  selector: string;
};

/** A clickable element. */
export type Clickable = Place & {
  element: number;
  tag: string;
  type: string;
  role: string;
  /** Its whole text in one line, or else its accessible name. */
  text: string;
  /** The first line of its text. */
  label: string;
  /** Its other lines. */
  description: string;
  accessibleName: string;
  href: string;
  isButton: boolean;
  isSubmit: boolean;
  disabled: boolean;
  visible: boolean;
  box: Box;
  form: number;
  /** The numbers of the forms and groups that it is in, the innermost first. */
  groups: number[];
  xpath: string;
};

/** A text that may be an error message of the site. The kinds are listed by certainty, the most certain first. */
export type Message = { kind: 'alert' | 'tied' | 'class' | 'status' | 'colour'; text: string };

/** The facts that page/observe.browser.ts reads in one frame. */
export type Observation = {
  url: string;
  /** The origin of its document; `null` as a text if that is opaque. */
  origin: string;
  title: string;
  ready: 'loading' | 'interactive' | 'complete';
  headings: string[];
  /** The first visible lines. */
  lines: string[];
  /** The size of the frame, in CSS pixels. */
  width: number;
  height: number;
  /** Whether the frame may have closed shadow trees that are not examined yet. */
  hasUnexaminedHosts: boolean;
  controls: Control[];
  clickables: Clickable[];
  messages: Message[];
  hasCaptcha: boolean;
};

/** An observation with the id of its frame. */
export type ObservedFrame = Observation & { frameId: string; isMain: boolean };
