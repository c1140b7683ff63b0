// Who is signed in, in the bar; nothing if the service requires no tokens.
import { useViewer } from "../change/proposal";

export function SignedIn() {
  const viewer = useViewer();
  if (!viewer?.name) return null;
  const meaning = `Signed in as ${viewer.name}, with scope ${viewer.scope.toLowerCase()}`;
  return (
    <span class="viewer" title={meaning}>
      {viewer.name}
    </span>
  );
}
