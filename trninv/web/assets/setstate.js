import{D as e,S as t,T as n,l as r,m as i,r as a,t as o,v as s}from"./jsxRuntime.js";import{E as c,S as l,b as u,k as d,r as f}from"./parts.js";import{_ as p,f as m,n as h,o as g}from"./state.js";import{a as _,c as v,f as y,l as b,t as x,u as S}from"./words.js";import{n as C,t as w}from"./confirmation.js";import{R as T}from"./index.js";var E=u(`fragment Seen on Event { event at who why }`),D=u(`
  query Named(
    $servers: [Address!]!, $chips: [Address!]!, $switches: [Address!]!, $nics: [Address!]!
    $nodes: [Address!]!, $links: [Address!]!
  ) {
    events(last: 1) { nodes { event } }
    servers(filter: { address: { in: $servers } }, first: 400) {
      nodes { kind: __typename address state factor lastChange { ...Seen } chips(first: 64) { nodes { address state job } } }
    }
    chips(filter: { address: { in: $chips } }, first: 1000) {
      nodes { kind: __typename address state factor job lastChange { ...Seen } }
    }
    switches(filter: { address: { in: $switches } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    nics(filter: { address: { in: $nics } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    networkNodes(filter: { address: { in: $nodes } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    links(filter: { address: { in: $links } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
  }
`,[E]),O=u(`
  mutation Set($input: SetStateInput!) {
    setState(input: $input) {
      changes {
        address before factorBefore after
        target {
          ... on Server { state lastChange { event } }
          ... on Chip { state lastChange { event } }
          ... on Switch { state lastChange { event } }
          ... on Nic { state lastChange { event } }
          ... on NetworkNode { state lastChange { event } }
          ... on Link { state lastChange { event } }
        }
      }
    }
  }
`),k=u(`
  fragment Able on CapabilityAnswer {
    chips idleLinks
    halves { exact upper { gigabytesPerSecond } }
  }
`),A=u(`
  query CapabilityIf($scope: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      capability(scope: $scope) { ...Able difference { incomparable } baseline { ...Able } }
    }
  }
`,[k]),j=u(`
  query FlowIf($from: Address!, $to: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      bandwidth(from: $from, to: $to) {
        maximumFlow { gigabytesPerSecond }
        baseline { maximumFlow { gigabytesPerSecond } }
      }
    }
  }
`),M=u(`
  query Brought($scope: Address!) {
    incidents(scope: $scope, first: 1) {
      nodes {
        id causes causeCount
        impact {
          domains {
            domain chipsBefore chipsNow idleLinksBefore idleLinksNow incomparable
            bisectionBefore { upper { gigabytesPerSecond } exact }
            bisectionNow { upper { gigabytesPerSecond } exact }
          }
        }
      }
    }
  }
`);function N(e){let[t,n,r,i]=[/\/s\d+$/,/\/c\d+$/,/\/sw\d+$/,/\/efa\d+$/].map(t=>e.filter(e=>!e.includes(`--`)&&t.test(e))),a=e.filter(e=>e.includes(`--`)),o=new Set([t,n,r,i,a].flat());return{servers:t,chips:n,switches:r,nics:i,nodes:e.filter(e=>!o.has(e)),links:a}}var ee=e=>[...e.servers.nodes,...e.chips.nodes,...e.switches.nodes,...e.nics.nodes,...e.networkNodes.nodes,...e.links.nodes],P={Nic:`NIC`,NetworkNode:`network node`};function F(e){let t=new Map;for(let{kind:n}of e)t.set(n,(t.get(n)??0)+1);return[...t].map(([e,t])=>b(t,P[e]??e.toLowerCase())).join(`, `)}var I=(e,t)=>`Set ${F(e)} to ${t}`;function L(e){let t=e.flatMap(e=>`chips`in e?e.chips.nodes:`job`in e?[e]:[]);return new Map(t.map(e=>[e.address,e]))}var R=({lastChange:e})=>e?.event??0;function z(e,t){for(let n of t)e.has(n.address)||e.set(n.address,{state:n.state,event:R(n)})}var B=(e,t)=>t.filter(t=>e.get(t.address)?.event!==R(t)),V=[`up`,`degraded`];function H(e,t,n){let r=!V.includes(t),i=e.filter(({state:e})=>V.includes(e));if(r)return{down:i.map(({address:e})=>e),derate:[]};let a=e=>n/(e.factor??1);return i.length===e.length&&t===`degraded`&&e.every(e=>a(e)<=1)?{down:[],derate:e.filter(e=>a(e)<1).map(e=>({address:e.address,factor:a(e)}))}:null}function U(e){let t=new Map;for(let n of e){let e=`${+!!/\/s\d+$/.test(n.address)} ${n.before} ${n.factorBefore}`;t.set(e,[...t.get(e)??[],n])}return[...t].sort(([e],[t])=>e<t?-1:1).map(([,e])=>e)}var W=2;function G({things:e,to:t,factor:n,route:r}){let{reached:i}=s(),a=H(e,t,n),c=[...new Set(e.map(({address:e})=>T(e)))].filter(Boolean),l=a&&!a.down.length&&!a.derate.length;return o(`section`,{class:`would`,"aria-label":`What this would change`,children:[o(`h3`,{children:[`What this would change `,o(`span`,{class:`quiet`,children:[`as of `,m(i),` UTC`]})]}),l&&o(`p`,{class:`quiet`,children:`No effect on capacity.`}),a&&!l&&c.slice(0,W).map(e=>o(J,{domain:e,assumed:a,route:r},e)),a&&!l&&c.length>W&&o(`p`,{class:`quiet`,children:[`and `,b(c.length-W,`more domain`)]}),a&&!c.length&&!l&&o(`p`,{class:`quiet`,children:`Not in a scale-up domain, so no NeuronLink changes.`}),!a&&o(X,{things:e,to:t}),o(Z,{things:e,to:t})]})}function K({name:e,before:t,now:n,unit:r=``,isBad:i=!1,incomparable:a}){let s=n-t,c=a?`not comparable: ${a}`:_(t,n)||`no change`;return o(`div`,{children:[o(`dt`,{children:e}),o(`dd`,{children:[o(f,{now:`${v(n)}${r}`,before:v(t)+(s?``:r)}),o(`span`,{class:s<0!==i&&s&&!a?`less`:`quiet`,children:c})]})]})}function q({result:e,children:t}){return e.error?o(`p`,{class:`failure`,children:e.error.message}):e.data===void 0?e.loading?o(`p`,{class:`quiet`,children:`Computing…`}):null:o(`dl`,{class:e.loading?`figures stale`:`figures`,"aria-busy":e.loading,children:t(e.data)})}function J({domain:t,assumed:n,route:r}){let{from:i,to:a}=r.view===`domain`&&r.subject===t?r.options:{},s=i&&a?{from:x(t,i),to:x(t,a)}:null,c=d(l(A,{scope:t,...n})),u=d(s&&l(j,{...s,...n}));return o(e,{children:[o(q,{result:c,children:({whatIf:{capability:e}})=>e.baseline&&o(Y,{domain:t,chips:[e.baseline.chips,e.chips],links:[e.baseline.idleLinks,e.idleLinks],halves:[e.baseline.halves,e.halves],incomparable:e.difference?.incomparable})}),s&&o(q,{result:u,children:({whatIf:{bandwidth:e}})=>o(K,{name:`Maximum flow ${S(t,s.from)} to ${S(t,s.to)}`,before:e.baseline?.maximumFlow.gigabytesPerSecond??0,now:e.maximumFlow.gigabytesPerSecond,unit:` GB/s`})})]})}function Y({domain:t,chips:n,links:r,halves:[i,a],incomparable:s}){return o(e,{children:[o(K,{name:`Working chips in ${t}`,before:n[0],now:n[1]}),o(K,{name:`Idle links`,before:r[0],now:r[1],isBad:!0}),o(K,{name:i.exact&&a.exact?`Bisection`:`Bisection, at most`,before:i.upper.gigabytesPerSecond,now:a.upper.gigabytesPerSecond,unit:` GB/s`,incomparable:s})]})}function X({things:e,to:t}){let n=e.find(({state:e})=>e!==`up`)?.address,r=d(t===`up`&&n?l(M,{scope:n}):null),i=new Set(e.map(({address:e})=>e));return t!==`up`||!n?o(`p`,{class:`quiet`,children:`Capacity will increase. The numbers are known once the state is set.`}):o(q,{result:r,children:({incidents:{nodes:e}})=>{let t=e[0];return t?t.causeCount>t.causes.length||!t.causes.every(e=>i.has(e))?o(`p`,{class:`quiet`,children:[`Part of incident `,t.id,`, which has `,b(t.causeCount,`cause`),`. What the other causes took down stays down.`]}):t.impact.domains.map(e=>o(Y,{domain:e.domain,chips:[e.chipsNow,e.chipsBefore],links:[e.idleLinksNow,e.idleLinksBefore],halves:[e.bisectionNow,e.bisectionBefore],incomparable:e.incomparable},e.domain)):o(`p`,{class:`quiet`,children:`Not part of an incident.`})}})}function Z({things:e,to:t}){let n=new Map;for(let{address:t,job:r}of L(e).values())r&&n.set(r,[...n.get(r)??[],t]);return t===`up`?null:o(`ul`,{class:`plain`,children:[...n].map(([e,t])=>o(`li`,{children:[o(h,{state:`degraded`}),` job `,e,` uses `,v(t.length),` of these chips`,` `,o(`a`,{href:a(`jobs`,``,{in:T(t[0]??``),fit:`chips:${t.length}`}),target:`_blank`,rel:`noopener`,children:`Find another placement`})]},e))})}var Q=e=>Math.max(0,...e.map(({target:e})=>`lastChange`in e?e.lastChange?.event??0:0)),te=e=>({message:e.message,undo:e.changes.length?()=>ne(e):void 0});async function ne({changes:e,why:t,who:n}){let r=Q(e);for(let a of U(e)){let e={addresses:a.map(({address:e})=>e),state:a[0]?.before.toUpperCase(),factor:a[0]?.factorBefore??null,why:`undone: ${t}`.slice(0,1e3),who:n,unchangedSince:r},{setState:o}=await c({...l(O,{input:e}),at:``});i(Q(o.changes))}}var re=[`up`,`degraded`,`down`,`maintenance`],ie=1e3;function $(e){e.places.length&&C(t=>o(ae,{change:e,close:t}))}function ae({change:a,close:s}){let u=t(new Map),f=r(),[p,m]=n(()=>[...new Set(a.places)]),[h,_]=n(a.state),[y,b]=n(String(a.factor??.5)),x=d(l(D,N(p))),S=x.data?ee(x.data):[];z(u.current,S);let C=B(u.current,S),T=L(S).size,E=Number(y),k=!x.loading&&S.length>0&&S.length<p.length,A=async({why:e,who:t})=>{let n={addresses:S.map(({address:e})=>e),state:h.toUpperCase(),factor:h===`degraded`?E:null,why:e,who:t,unchangedSince:x.data?.events.nodes[0]?.event??0},{setState:r}=await c({...l(O,{input:n}),at:``});return i(Q(r.changes)),te({message:oe(S,r.changes,h),why:e,who:t,changes:r.changes})},j=o(e,{children:[o(se,{things:x.error||!x.data?p.map(e=>({address:e})):S,places:p,set:m}),k&&o(`p`,{class:`failure`,role:`alert`,children:[`Only `,v(S.length),` of `,v(p.length),` parts were loaded. Set fewer at once.`]}),x.error&&o(`p`,{class:`failure`,role:`alert`,children:x.error.message}),o(`fieldset`,{class:`to`,children:[o(`legend`,{children:`New state`}),re.map(e=>o(`label`,{class:e,children:[o(`input`,{type:`radio`,name:`to`,value:e,checked:e===h,onChange:()=>_(e)}),o(g,{state:e,children:e})]},e))]}),h===`degraded`&&o(`label`,{children:[`Remaining capacity, between 0 and 1`,o(`input`,{type:`number`,name:`factor`,required:!0,min:`0.000001`,max:`0.999999`,step:`any`,value:y,onInput:e=>b(e.currentTarget.value)})]})]});return o(w,{title:`Set state`,action:I(S,h),tone:h===`up`?``:h,asks:[`why`,`who`],most:ie,ready:!x.loading&&S.length>0&&!k,note:`Takes effect immediately`,subject:j,apply:A,describe:({message:e})=>C.length?null:e,close:s,children:[S.length>0&&(h!==`degraded`||E>0&&E<1)&&o(G,{things:S,to:h,factor:E,route:f}),T>16&&o(`label`,{children:[`This affects `,v(T),` chips. Type the number to confirm`,o(`input`,{name:`count`,required:!0,inputMode:`numeric`,autocomplete:`off`,pattern:String(T),title:String(T)})]}),C.length>0&&o(ce,{things:C,seen:u.current})]})}function oe(e,t,n){if(!t.length)return`No change: ${F(e)} already ${p(n)}`;let r=t.filter(({after:e,target:t})=>`state`in t&&t.state!==e).length,i=r?`; ${v(r)} will be ${p(n)} once the server is`:``;return`${F(e)} set to ${n}${i}`}function se({things:e,places:t,set:r}){let[i,a]=n(!1),s=e=>{let n=e.value.trim().toLowerCase();n&&r([...new Set([...t,n])]),a(!1)};return o(`div`,{class:`what`,children:[o(`h3`,{children:`Parts`}),o(`ul`,{children:[e.slice(0,8).map(({address:e,state:n})=>o(`li`,{children:[o(`strong`,{children:y(e)}),` `,n&&o(g,{state:n}),t.length>1&&o(`button`,{type:`button`,class:`plain`,"aria-label":`Remove ${e}`,onClick:()=>r(t.filter(t=>t!==e)),children:`×`})]},e)),e.length>8&&o(`li`,{class:`quiet`,children:[`and `,v(e.length-8),` more`]}),o(`li`,{children:i?o(`input`,{"aria-label":`Another address`,ref:e=>e?.focus(),spellcheck:!1,autocomplete:`off`,onKeyDown:e=>{(e.key===`Enter`||e.key===`Escape`)&&(e.preventDefault(),e.key===`Escape`&&(e.currentTarget.value=``),s(e.currentTarget))},onBlur:e=>s(e.currentTarget)}):o(`button`,{type:`button`,class:`plain`,onClick:()=>a(!0),children:`+ Add`})})]})]})}function ce({things:e,seen:t}){return o(`div`,{class:`conflict`,role:`alert`,children:[o(`strong`,{children:`Changed since you opened this dialog`}),o(`ul`,{class:`plain`,children:e.map(({address:e,state:n,lastChange:r})=>o(`li`,{children:[o(h,{state:n}),` `,y(e),` was `,t.get(e)?.state,`, now `,p(n),r&&`, ${m(r.at)} UTC, ${r.who}: ${r.why}`]},e))}),o(`label`,{children:[o(`input`,{type:`checkbox`,required:!0}),` Set anyway`]},e.map(({lastChange:e})=>e?.event).join())]})}export{$ as open};