// Share: copy the page's address with its time and revision.
import { useState } from "preact/hooks";
import { usePageTime } from "../live";
import { shareAddress } from "../route";
import { Icon } from "./icons";

export const copyShareLink = () => navigator.clipboard.writeText(shareAddress());

export function Share() {
  usePageTime(); // hides what was copied when the page shows another time
  const [note, setNote] = useState("");
  const copy = async () => {
    await copyShareLink().then(
      () => setNote("Link copied, with the time that this page shows"),
      () => setNote("The browser blocked copying"),
    );
    setTimeout(() => setNote(""), 3000);
  };
  return (
    <button
      type="button"
      class="square share"
      onClick={copy}
      aria-label="Share"
      title="Copy a link to this page at this time"
    >
      <Icon name="share" />
      <span class={note ? "note" : "unseen"} role="status">
        {note}
      </span>
    </button>
  );
}
