/** Where an element lies, in CSS pixels of its frame. */
export type Box = { x: number; y: number; width: number; height: number };

type Place = { inSearch: boolean; inFooter: boolean; inHeader: boolean; inDialog: boolean };

/** A field of a page as it is, whatever it is for. Texts are empty where there are none. */
export type Control = Place & {
  /** Its number in the frame, until the frame is looked at again. */
  element: number;
  tag: string;
  /** The `type` of an input; `select`, or `text`. */
  type: string;
  name: string;
  id: string;
  autocomplete: string;
  inputMode: string;
  /** 0 where it takes any length. */
  maxLength: number;
  pattern: string;
  placeholder: string;
  label: string;
  /** What the label was taken from; `near` is text that stands before the field, without being tied to it. */
  labelledBy: 'label' | 'near' | 'placeholder' | 'title' | '';
  hint: string;
  required: boolean;
  disabled: boolean;
  readOnly: boolean;
  /** Whether it shows dots for what is typed. */
  masked: boolean;
  focused: boolean;
  visible: boolean;
  /** Whether something is drawn over it, which can be a label. */
  covered: boolean;
  /** False where it is hidden from assistive technology and the Tab key. */
  forAssistants: boolean;
  box: Box;
  /** The number of its form in the frame; -1 outside of forms. */
  form: number;
  /** The number of its form, or of the part of the page that has a button for it. */
  group: number;
  /** What the form's attributes call it. */
  formWords: string;
  groupHeading: string;
  /** Of a `select`. */
  options: string[];
  selector: string;
};

/** What can be clicked. */
export type Clickable = Place & {
  element: number;
  tag: string;
  type: string;
  role: string;
  /** All its text in one line; its name where it has none. */
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

/** A text by which the site may tell what is wrong, the surest kinds first. */
export type Message = { kind: 'alert' | 'tied' | 'class' | 'status' | 'colour'; text: string };

/** What page/observe.js sees in one frame. */
export type Observation = {
  url: string;
  title: string;
  ready: 'loading' | 'interactive' | 'complete';
  headings: string[];
  /** The beginning of what it shows. */
  lines: string[];
  /** The size of the frame, in CSS pixels. */
  width: number;
  height: number;
  /** Whether there may be closed shadow trees that were not looked into. */
  hasUnexaminedHosts: boolean;
  controls: Control[];
  clickables: Clickable[];
  messages: Message[];
  hasCaptcha: boolean;
};

/** An observation with the frame that it is of. */
export type ObservedFrame = Observation & { frameId: string; isMain: boolean };
