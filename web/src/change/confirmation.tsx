// The dialog of every change: what it does, the user's reason and name, and the answer; then a toast that can undo it.
import { type ComponentChildren, render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api";
import { refresh } from "../live";
import { useLeaving } from "../route";
import "../style/change.css";
import { useViewer, type Viewer } from "./proposal";
import { showToast, type ToastContent, toastHost } from "./toast";

const WHO = "trninv who";

/** What the user enters to confirm. */
export interface FormInput {
  job: string;
  why: string;
  /** Null if the token has a name. */
  who: string | null;
}

export type Field = keyof FormInput;

const LABELS = {
  job: { label: "Job name", title: "A name" },
  why: { label: "Reason, kept with the change", title: "A reason" },
};

/** Open a dialog, if none is open; the focus returns afterwards. */
export function openDialog(dialog: (close: () => void) => ComponentChildren): void {
  if (document.querySelector("dialog.change")) return;
  toastHost();
  const host = document.body.appendChild(document.createElement("div"));
  const close = () => {
    render(null, host);
    host.remove();
  };
  render(dialog(close), host);
}

interface Props {
  title: string;
  /** The label of the button that applies the change, by default the title, and its class. */
  action?: string;
  tone?: string;
  asks: Field[];
  /** Maximum number of characters of a field. */
  most: number;
  /** Whether the change can be applied. */
  ready?: boolean;
  /** A note beside the buttons, after the user's name. */
  note?: string;
  /** What is shown before the fields. */
  subject?: ComponentChildren;
  /** The preview. */
  children: ComponentChildren;
  apply: (input: FormInput) => Promise<ToastContent>;
  /** Describe a failure; null if the dialog shows it already. */
  describe?: (error: ApiError) => string | null;
  /** The label of the only button once a failure leaves nothing to repeat. */
  ending?: (error: ApiError) => string | undefined;
  close: () => void;
}

export function ChangeDialog({ title, action = title, tone = "", asks, most, ready = true, note, ...props }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const viewer = useViewer();
  const [failed, fail] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const problem = failed && (props.describe ? props.describe(failed) : failed.message);
  const end = failed && props.ending?.(failed);
  useLayoutEffect(() => {
    box.current?.showModal();
    const first = box.current?.querySelector<HTMLElement>("[name=job], [name=why], [name=who]");
    (first ?? box.current?.querySelector<HTMLElement>("[type=submit]"))?.focus();
  }, []);
  useLeaving(box, busy);
  const shut = () => box.current?.close();
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    if (end) return shut();
    const form = new FormData(event.target as HTMLFormElement);
    const text = (name: Field) => String(form.get(name) ?? "").trim();
    const who = asks.includes("who") && !viewer?.name ? text("who") : null;
    if (who !== null) localStorage.setItem(WHO, who);
    setBusy(true);
    fail(undefined);
    try {
      const done = await props.apply({ job: text("job"), why: text("why"), who });
      shut();
      showToast(done);
    } catch (error) {
      fail(error as ApiError);
      setBusy(false);
      refresh();
    }
  };
  return (
    <dialog class="change" ref={box} aria-labelledby="change" onClose={props.close}>
      <form onSubmit={send}>
        <header>
          <h2 id="change">{title}</h2>
          <button type="button" class="square" aria-label="Close" onClick={shut}>
            <span aria-hidden="true">×</span>
          </button>
        </header>
        <div class="body">
          {props.subject}
          {(["job", "why"] as const)
            .filter((name) => asks.includes(name))
            .map((name) => (
              <label key={name}>
                {LABELS[name].label}
                <input
                  name={name}
                  required
                  maxLength={most}
                  pattern=".*\S.*"
                  title={LABELS[name].title}
                  autocomplete="off"
                />
              </label>
            ))}
          {asks.includes("who") && <NameField viewer={viewer} most={most} />}
          {props.children}
          {problem && (
            <p class="failure" role="alert">
              {problem}
            </p>
          )}
        </div>
        <footer>
          <span class="quiet">{[viewer?.name && `As ${viewer.name}`, note].filter(Boolean).join(" · ")}</span>
          {!end && (
            <button type="button" onClick={shut}>
              Cancel
            </button>
          )}
          <button
            type="submit"
            class={`main ${tone}`}
            {...(end ? {} : { "data-writes": "", disabled: busy || !viewer || !ready })}
          >
            {end ?? action}
          </button>
        </footer>
      </form>
    </dialog>
  );
}

/** A field for the user's name, without a token. */
function NameField({ viewer, most }: { viewer: Viewer | undefined; most: number }) {
  if (!viewer || viewer.name) return null;
  return (
    <label>
      Your name, kept with the change
      <input
        name="who"
        required
        maxLength={most}
        pattern=".*\S.*"
        title="A name"
        autocomplete="username"
        defaultValue={localStorage.getItem(WHO) ?? ""}
      />
    </label>
  );
}
