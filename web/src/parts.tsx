// Components shared by several views: loading and errors, copying queries, saving a picture.
import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type ApiError, curl, hasToken, isRetryable, type Loaded, printQueries, type Query, saveToken } from "./api";
import { saveFile, standaloneSvg } from "./drawing/save";
import { href } from "./route";

interface FailureProps {
  error: ApiError;
  again?: (() => void) | undefined;
  query?: Query | null | undefined;
}

/** An error message, with *Try again* and *Copy as curl* if a retry can help. */
export function Failure({ error, again, query }: FailureProps) {
  if (error.code !== "UNAUTHENTICATED") {
    return (
      <p class="failure">
        {error.message}{" "}
        {isRetryable(error) && (
          <>
            <button type="button" onClick={again ?? (() => location.reload())}>
              Try again
            </button>{" "}
            {query && <CopyButton name="Copy as curl" text={() => curl([query])} />}
          </>
        )}
      </p>
    );
  }
  const keep = (event: SubmitEvent) => {
    event.preventDefault();
    saveToken(String(new FormData(event.target as HTMLFormElement).get("token")).trim());
    location.reload();
  };
  return (
    <form class="failure" onSubmit={keep}>
      <label>
        {hasToken()
          ? "This token is unknown, revoked or expired. Create another one with "
          : "This service requires a token. Use that of your sign-in, or create one with "}
        <code>trninv token create</code>{" "}
        <input
          name="token"
          type="password"
          autocomplete="off"
          required
          pattern="[!-~]+"
          title="The token exactly as it was shown"
        />
      </label>{" "}
      <button type="submit">Use token</button>
    </form>
  );
}

/** The page of something that cannot be shown: what it was, why, and where to go. */
export function ErrorPage({ page, children }: { page: string; children?: ComponentChildren }) {
  return (
    <article>
      <header class="title">
        <h1>{page.slice(0, 200).trim() || "No address"}</h1>
      </header>
      {children}
      <p>
        <a href={href("home")}>Go to Fleet</a>, or press <kbd>/</kbd> to find another address.
      </p>
    </article>
  );
}

/** The data once it is loaded, or the error, which fills the page if the data would have. */
export function Loading<T>({
  result,
  page,
  children,
}: {
  result: Loaded<T>;
  page?: string;
  children: (data: T) => ComponentChildren;
}) {
  if (result.error && result.data === undefined) {
    const failure = <Failure error={result.error} again={result.again} query={result.query} />;
    return page === undefined ? failure : <ErrorPage page={page}>{failure}</ErrorPage>;
  }
  if (result.data === undefined)
    return result.loading ? (
      <p class="quiet loading" aria-busy="true">
        Loading…
      </p>
    ) : null;
  return (
    <div class={result.loading || result.error ? "stale" : ""} aria-busy={result.loading}>
      {result.loading && <p class="quiet anew">Computing…</p>}
      {children(result.data)}
    </div>
  );
}

export function CopyQueries({ queries }: { queries: Query[] }) {
  const title = "Copy the queries behind this view, ready for GraphiQL";
  return <CopyButton name="Copy as GraphQL" text={() => printQueries(queries)} title={title} aria-keyshortcuts="Y" />;
}

interface CopyButtonProps extends ButtonHTMLAttributes {
  name: string;
  text: () => string;
}

/** A button that copies a text and confirms it. */
export function CopyButton({ name, text, ...more }: CopyButtonProps) {
  const [note, setTold] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setTold("Copied");
    } catch {
      setTold("The browser blocked copying");
    }
    setTimeout(() => setTold(""), 2000);
  };
  return (
    <button type="button" onClick={copy} {...more}>
      <span aria-live="polite">{note || name}</span>
    </button>
  );
}

/** A button that saves the picture found by a selector as a file. */
export function DownloadSvg({ name, picture }: { name: string; picture: () => string | null }) {
  const save = () => {
    const text = picture();
    if (text) saveFile(`${name.replaceAll("/", "-")}.svg`, text, "image/svg+xml");
  };
  return (
    <button type="button" onClick={save}>
      Download SVG
    </button>
  );
}

export const svgOf = (id: string) => () => {
  const element = document.getElementById(id);
  return element instanceof SVGSVGElement ? standaloneSvg(element) : null;
};

/** An address that wraps after its slashes; the second end of a link stays whole. */
export function Address({ text }: { text: string }) {
  const [first = "", second] = text.split(" – ");
  return (
    <>
      {first.split(/(\/)/).map((part) =>
        part === "/" ? (
          <>
            /<wbr />
          </>
        ) : (
          part
        ),
      )}
      {second && (
        <>
          {" – "}
          <span class="nowrap">{second}</span>
        </>
      )}
    </>
  );
}

/** A reason, in which a ticket such as ABC-123 is not broken over lines. */
export const Reason = ({ text }: { text: string }) => (
  <>
    {text.split(/\b([A-Za-z]\w*-\d+)\b/).map((part, index) => (index % 2 ? <span class="nowrap">{part}</span> : part))}
  </>
);

/** Characters of a reason that certainly has room. */
const SHORT = 100;

/** A reason in a list: at most four lines, the whole on hover and while its row has the focus. */
export const BriefReason = ({ text }: { text: string }) => (
  <span class="brief-reason" title={text.length > SHORT ? text : undefined}>
    <Reason text={text} />
  </span>
);

/** The sign of numbers on which sources disagree. ⚠ is for unhealthy parts. */
export const DISPUTED = "≠";

/** The sign next to a disputed number, with a link to what each source states. */
export const DisputeMark = ({ of, dispute }: { of?: string; dispute: string }) => (
  <a class="mark" href={href("disagreements", "", { of })} title={dispute}>
    <span aria-hidden="true"> {DISPUTED}</span>
    <span class="unseen">sources disagree: {dispute}</span>
  </a>
);

/** Room of that sign, so that numbers with and without one end below each other. */
export const NO_MARK = (
  <span class="mark no" aria-hidden="true">
    {" "}
    {DISPUTED}
  </span>
);

/** A choice as radio buttons in a row. */
export function Choice<T extends string>({
  name,
  options,
  chosen,
  choose,
}: {
  name: string;
  options: Record<T, string>;
  chosen: T;
  choose: (value: T) => void;
}) {
  return (
    <fieldset class="choice">
      <legend>{name}</legend>
      {(Object.entries(options) as [T, string][]).map(([value, label]) => (
        <label key={value}>
          <input type="radio" name={name} checked={value === chosen} onChange={() => choose(value)} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** Jobs as links, separated by commas; none: what to say if there are none. */
export const JobLinks = ({ jobs, none }: { jobs: readonly string[]; none?: string }) => (
  <>
    {jobs.length
      ? jobs.map((job, index) => (
          <span key={job}>
            {index > 0 && ", "}
            <a href={href("jobs", "", { sel: job })}>{job}</a>
          </span>
        ))
      : none}
  </>
);

/** A number before and after a scenario, or one number without a scenario. */
export function Change({ now, before }: { now: string; before?: string | undefined }) {
  if (before === undefined || before === now) return <strong>{now}</strong>;
  return (
    <>
      <s title="before">{before}</s> <span aria-hidden="true">→</span> <strong title="after">{now}</strong>
    </>
  );
}
