import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

export type DialogProps = {
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
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id={id}>{title}</h2>
        <div class="content">{children}</div>
        <div class="actions">{actions}</div>
      </form>
    </dialog>
  );
}

/** Asks before an action that can't be undone. */
export function Confirmation({
  title,
  text,
  action,
  onConfirm,
  onClose,
}: {
  title: string;
  text: string;
  /** The text of the button. */
  action: string;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const confirm = () => {
    onClose();
    onConfirm();
  };
  const actions = (
    <>
      <button type="button" onClick={onClose}>
        Cancel
      </button>
      <button type="submit" class="danger">
        {action}
      </button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} onSubmit={confirm} actions={actions}>
      <p>{text}</p>
    </Dialog>
  );
}
