import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

type DialogProps = {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** The buttons. */
  actions: ComponentChildren;
  /** Called when the person presses Enter or a button of type `submit`. */
  onSubmit?: () => void;
};

/** A modal dialog. It opens when it is rendered. Escape closes it. */
export function Dialog({ title, onClose, children, actions, onSubmit }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A layout effect runs before the next key arrives.
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    // Enter must not start something that can't be undone.
    const safe = 'input:not([readonly]), select, .actions button:not(.danger)';
    element.querySelector<HTMLElement>(safe)?.focus();
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id={id}>{title}</h2>
        {/* Can have the focus, so that the keyboard scrolls long content. */}
        <div class="content" tabIndex={0}>
          {children}
        </div>
        <div class="actions">{actions}</div>
      </form>
    </dialog>
  );
}

/** `action` is the text of the button. */
type Question = { title: string; text: string; action: string; onConfirm: () => void; onClose: () => void };

/** Asks before an action that can't be undone. */
export function Confirmation({ title, text, action, onConfirm, onClose }: Question) {
  const confirm = () => {
    onClose();
    onConfirm();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={confirm}
      actions={<Buttons action={action} tone="danger" onClose={onClose} />}
    >
      <p>{text}</p>
    </Dialog>
  );
}

type ButtonsProps = { action: string; tone?: 'primary' | 'danger'; onClose: () => void };

/** The buttons of a dialog: `Cancel`, and the one that submits it. */
export function Buttons({ action, tone = 'primary', onClose }: ButtonsProps) {
  return (
    <>
      <button type="button" onClick={onClose}>
        Cancel
      </button>
      <button type="submit" class={tone}>
        {action}
      </button>
    </>
  );
}
